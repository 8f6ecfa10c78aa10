import{v as r}from"./shared2.js";import"./shared.js";import"./shared3.js";import"./shared4.js";import"./shared5.js";import"./shared6.js";r("server");
