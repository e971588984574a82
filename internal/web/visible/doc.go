// Package visible spells text so that what a person sees names the text exactly.
//
// HTML escaping stops markup, not deception: direction controls, zero-width and
// tag characters, escape sequences, stacked combining marks and floods of blank
// space all pass it unchanged. Here each such character is written out as an
// escape between U+27E8 and U+27E9, as in ⟨U+202E⟩, and everything that is left
// stands for itself.
//
//	visible.Text("pay\u200bpal\n")      // pay⟨U+200B⟩pal⟨LF⟩ and a line break
//	visible.ASCII("pаypal")             // p⟨U+0430⟩ypal: the look-alike is spelt out
//	visible.Warnings("pаypal")          // [a word that mixes alphabets]
//
// # Promises
//
//   - V1. Text and ASCII are injective: two different texts, whatever bytes they
//     hold, are never shown alike. A text that imitates an escape is itself escaped.
//   - V2. Text puts out only letters, digits, punctuation and symbols, single
//     spaces, the marks that belong to a letter of their own script, and
//     line breaks behind ⟨LF⟩. ASCII puts out U+0020 to U+007E, the two brackets
//     and those line breaks.
//   - V3. Every text that holds an escaped character other than a line break, a tab
//     or a run of spaces has at least one warning; so has a flood of those, a word
//     of mixed scripts and a word that only looks like Latin letters.
//   - V4. Output and work are linear in the input: a run of one escaped character is
//     one escape with a count, as in ⟨LF ×500⟩.
//
// It leaves markup to html/template and the choice of what to show to the page.
package visible
