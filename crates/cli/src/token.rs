//! `anabranch token`: lets a viewer watch channels that are not open to all.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anabranch_apps::serve::{AccessKey, All, Ticket, TicketChannels};
use clap::Args;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use crate::failure::Failure;
use crate::output;

/// Makes a token for a viewer of `anabranch serve`
///
/// Channels with access = "token" are watched by who has a token for them. It is signed with the
/// server's key and holds until its time is over; another key ends all of them.
///
/// Examples:
///   anabranch token --key access.key --who alice --channels 1,7 --until 2026-12-31T23:59Z
///   anabranch token --key access.key --who bob --channels all --for 30d
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Token {
    /// The file with the server's key, which `anabranch serve` makes.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Who it is for, as you want to see them among the viewers.
    #[arg(long, value_name = "NAME")]
    who: String,
    /// The numbers of the channels, divided by commas, or all.
    #[arg(long, value_name = "N,...", value_parser = channels)]
    channels: TicketChannels,
    /// When it ends, with a time zone: 2026-12-31T23:59Z, 2026-12-31T23:59+01:00.
    #[arg(long, value_name = "TIME", value_parser = until, required_unless_present = "span")]
    until: Option<Timestamp>,
    /// How long it holds: 90m, 12h, 30d, 1y.
    #[arg(long = "for", value_name = "SPAN", id = "span", value_parser = span)]
    #[arg(conflicts_with = "until")]
    span: Option<Span>,
    /// Prints this address of a page with the token, too: http://host:8080/, or
    /// http://host:8080/embed/7 for one channel.
    #[arg(long, value_name = "URL", value_parser = page)]
    page: Option<String>,
}

impl Token {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let key = AccessKey::read(&self.key).map_err(Failure::usage)?;
        let now = Timestamp::now();
        let until = match (self.until, self.span) {
            (Some(until), _) => until,
            (None, Some(span)) => after(now, span).map_err(Failure::usage)?,
            (None, None) => return Err(Failure::usage("give --until or --for")),
        };
        if until <= now {
            return Err(Failure::usage(format!("{until} is over: give a time that is to come")));
        }
        let ticket = Ticket { who: self.who, channels: self.channels, until };
        let token = ticket.sign(&key).map_err(Failure::usage)?;
        let mut text = format!("{token}\n");
        if let Some(page) = self.page {
            text.push_str(&with_token(&page, &token));
            text.push('\n');
        }
        Ok(output::print(&text)?)
    }
}

fn channels(text: &str) -> Result<TicketChannels, String> {
    if text == "all" {
        return Ok(TicketChannels::All(All::All));
    }
    let numbers: Result<BTreeSet<u32>, _> = text.split(',').map(|it| it.trim().parse()).collect();
    let numbers = numbers.ok().filter(|numbers| !numbers.contains(&0));
    let wrong = || format!("\"{text}\" are no channels: give their numbers, as in 1,7, or all");
    numbers.map(TicketChannels::Numbers).ok_or_else(wrong)
}

fn until(text: &str) -> Result<Timestamp, String> {
    let wrong = |_| format!("\"{text}\" is no time: write 2026-12-31T23:59Z, or +01:00 for the Z");
    text.parse().map_err(wrong)
}

fn span(text: &str) -> Result<Span, String> {
    let span: Option<Span> = text.parse().ok().filter(|span: &Span| span.is_positive());
    span.ok_or_else(|| format!("\"{text}\" is no span: write 90m, 12h, 30d or 1y"))
}

/// A year is as long as the calendar has it.
fn after(now: Timestamp, span: Span) -> Result<Timestamp, String> {
    let until = now.to_zoned(TimeZone::UTC).checked_add(span);
    until.map(|it| it.timestamp()).map_err(|_| "that is too long: give an end below".to_owned())
}

fn page(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    if host.is_none_or(str::is_empty) || text.contains(char::is_whitespace) {
        return Err(format!("\"{text}\" is no page: give its address, as in http://tv.example/"));
    }
    Ok(text.to_owned())
}

/// What comes behind `#` stays there.
fn with_token(page: &str, token: &str) -> String {
    let (address, place) = match page.find('#') {
        Some(at) => page.split_at(at),
        None => (page, ""),
    };
    let joint = if address.contains('?') { '&' } else { '?' };
    format!("{address}{joint}token={token}{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_people_write_them() {
        assert_eq!(channels("1, 7"), Ok(TicketChannels::Numbers([1, 7].into())));
        assert_eq!(channels("all"), Ok(TicketChannels::All(All::All)));
        assert!(channels("0").is_err() && channels("").is_err() && channels("1,x").is_err());
        assert_eq!(until("2026-12-31T23:59Z").unwrap().to_string(), "2026-12-31T23:59:00Z");
        let with_zone = until("2026-12-31 23:59+01:00").unwrap();
        assert_eq!(with_zone.to_string(), "2026-12-31T22:59:00Z");
        let error = until("2026-12-31 23:59").unwrap_err();
        assert!(error.ends_with("is no time: write 2026-12-31T23:59Z, or +01:00 for the Z"));
        let start = until("2028-02-01T00:00Z").unwrap();
        let end = |text: &str| after(start, span(text).unwrap()).unwrap().to_string();
        assert_eq!(end("30d"), "2028-03-02T00:00:00Z");
        assert_eq!(end("1y"), "2029-02-01T00:00:00Z");
        assert_eq!(end("90m"), "2028-02-01T01:30:00Z");
        assert!(span("-3h").is_err() && span("30").is_err());
        assert!(after(start, span("19000y").unwrap()).is_err());
    }

    #[test]
    fn a_page_gets_the_token_where_its_query_is() {
        assert_eq!(with_token("http://host/", "t"), "http://host/?token=t");
        assert_eq!(
            with_token("http://host/embed/7?a=b#c", "t"),
            "http://host/embed/7?a=b&token=t#c"
        );
        assert!(page("tv.example").is_err() && page("http://").is_err());
        assert!(page("https://tv.example:8443").is_ok());
    }
}
