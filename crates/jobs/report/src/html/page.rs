//! Writes HTML that cannot be broken out of.
//!
//! Invariant, kept by the types: only text of this program is written unescaped ([`Page::raw`]); every
//! value of a record passes [`Page::text`], which escapes it for text and for quoted attributes, and
//! makes control characters and marks of reading direction visible.

use base::units::printable;

/// A page, or a part of one.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// Markup of this program.
    pub fn raw(&mut self, html: &'static str) -> &mut Page {
        self.0.push_str(html);
        self
    }

    /// Text from anywhere, on one line.
    pub fn text(&mut self, text: &str) -> &mut Page {
        for c in printable(text).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        self
    }

    /// Text from anywhere that keeps its lines.
    pub fn lines(&mut self, text: &str) -> &mut Page {
        for (i, line) in text.lines().enumerate() {
            if i > 0 {
                self.raw("<br>");
            }
            self.text(line);
        }
        self
    }

    /// A number for an attribute, to the hundredth.
    pub fn number(&mut self, v: f64) -> &mut Page {
        use std::fmt::Write;
        let v = if v.is_finite() {
            (v * 100.0).round() / 100.0
        } else {
            0.0
        };
        let _ = write!(self.0, "{v}");
        self
    }

    /// Another part.
    pub fn part(&mut self, part: &Page) -> &mut Page {
        self.0.push_str(&part.0);
        self
    }

    /// All of it.
    pub fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_out() {
        let mut p = Page::default();
        p.raw("<b title='")
            .text("</script><img src=x onerror='a\"&\u{202e}\u{7}\n")
            .raw("'>");
        p.number(f64::NAN).number(1.0 / 3.0);
        assert_eq!(
            p.into_string(),
            "<b title='&lt;/script&gt;&lt;img src=x onerror=&#39;a&quot;&amp;\\u{202e}\\u{7}\\u{a}'>00.33"
        );
    }
}
