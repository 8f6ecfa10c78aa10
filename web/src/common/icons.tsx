/** Icons, drawn on a grid of 20; decoration only, beside words. */

import type { ComponentChildren } from 'preact';

export function Icon({ children }: { readonly children: ComponentChildren }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      {children}
    </svg>
  );
}

export function SoundIcon({ on }: { readonly on: boolean }) {
  return (
    <Icon>
      <path class="solid" d="M3 7.5h3l4-3.5v12l-4-3.5H3z" />
      {on ? (
        <path d="M13 7a4.2 4.2 0 0 1 0 6M15.4 4.8a7.4 7.4 0 0 1 0 10.4" />
      ) : (
        <path d="M13.2 7.8l4.4 4.4M17.6 7.8l-4.4 4.4" />
      )}
    </Icon>
  );
}

export function OverlayIcon() {
  return (
    <Icon>
      <path d="M4 16V9M10 16V4M16 16v-5" />
    </Icon>
  );
}

export function FullScreenIcon() {
  return (
    <Icon>
      <path d="M3 7.5V3h4.5M12.5 3H17v4.5M17 12.5V17h-4.5M7.5 17H3v-4.5" />
    </Icon>
  );
}

export function ThemeIcon() {
  return (
    <Icon>
      <circle cx="10" cy="10" r="6.5" />
      <path class="solid" d="M10 3.5a6.5 6.5 0 0 1 0 13z" />
    </Icon>
  );
}

export function HelpIcon() {
  return (
    <Icon>
      <path d="M7.2 7.2A2.8 2.8 0 1 1 10 10.4v1.6M10 15.4v.2" />
    </Icon>
  );
}

export function CutIcon() {
  return (
    <Icon>
      <circle cx="5" cy="5.5" r="2.2" />
      <circle cx="5" cy="14.5" r="2.2" />
      <path d="M6.9 6.7L17 15M6.9 13.3L17 5" />
    </Icon>
  );
}

export function SearchIcon() {
  return (
    <Icon>
      <circle cx="8.5" cy="8.5" r="5" />
      <path d="M12.3 12.3L17 17" />
    </Icon>
  );
}

export function StepIcon({ up }: { readonly up: boolean }) {
  return (
    <Icon>
      <path d={up ? 'M4 12.5l6-6 6 6' : 'M4 7.5l6 6 6-6'} />
    </Icon>
  );
}

export function RestartIcon() {
  return (
    <Icon>
      <path d="M15.6 8A6 6 0 1 0 16 10.8M16 3.6V8h-4.4" />
    </Icon>
  );
}

export function RemoveIcon() {
  return (
    <Icon>
      <path d="M4 6h12M8 6V3.8h4V6M5.6 6l.7 10.2h7.4L14.4 6M8.6 9v4.6M11.4 9v4.6" />
    </Icon>
  );
}

export function LeaveIcon() {
  return (
    <Icon>
      <path d="M8 3.5H4v13h4M8.5 10H17M13.6 6.6L17 10l-3.4 3.4" />
    </Icon>
  );
}

/** The mark of the program: a branch that leaves the stream and joins it again. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 40 24" aria-hidden="true">
      <path class="logo-main" d="M2 12h8c6 0 6 7 12 7s6-7 12-7h4" />
      <path class="logo-branch" d="M10 12c6 0 6-7 12-7s6 7 12 7" />
    </svg>
  );
}
