package visible

import (
	"iter"
	"strings"
	"unicode"
)

// scriptOf returns the script of r, or "" for what belongs to all of them (digits,
// punctuation, accents).
func scriptOf(r rune) string {
	if r < ascii {
		if unicode.IsLetter(r) {
			return "Latin"
		}
		return ""
	}
	for _, name := range frequent {
		if unicode.Is(unicode.Scripts[name], r) {
			return name
		}
	}
	if unicode.In(r, unicode.Common, unicode.Inherited) {
		return ""
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

// ascii is where ASCII ends.
const ascii = 0x80

// frequent is only an order of search.
var frequent = [...]string{"Latin", "Cyrillic", "Greek", "Han", "Hiragana", "Katakana", "Hangul", "Arabic", "Hebrew",
	"Devanagari", "Thai", "Bengali", "Tamil", "Telugu", "Gujarati", "Armenian", "Georgian", "Ethiopic", "Khmer", "Lao", "Myanmar", "Tibetan", "Sinhala"}

// words yields the runs of letters, marks and digits of s.
func words(s string) iter.Seq[string] {
	return strings.FieldsFuncSeq(s, func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.M, unicode.N)
	})
}

// mixed reports whether a word uses letters of several alphabets. Japanese, Korean
// and Chinese mix theirs, and write Latin words between them, as a matter of
// course.
func mixed(word string) bool {
	first := ""
	for _, r := range word {
		script := scriptOf(r)
		switch script {
		case "", "Han", "Hiragana", "Katakana", "Hangul", "Bopomofo":
			continue
		}
		if first == "" {
			first = script
		}
		if script != first {
			return true
		}
	}
	return false
}

// latinTwins are letters of other alphabets that most fonts draw like a Latin one.
const latinTwins = "" +
	"аеорсухіјѕһԁԛԝѵӏ" + "АВЕКМНОРСТУХІЈЅЗԌԚԜ" + // Cyrillic
	"ονικυραγη" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + // Greek
	"օսհոզցպաք" + "ՕՍԼ" + // Armenian
	"ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏃᏎᏒᏔᏙᏚᏞᏟᏢᏦᏴ" // Cherokee

// looksLatin reports whether a word of another alphabet could be read as a Latin
// one, letter by letter. One or two letters are left alone: they are everyday
// words in Greek and Russian.
func looksLatin(word string) bool {
	letters := 0
	for _, r := range word {
		if !unicode.IsLetter(r) {
			continue
		}
		if r < ascii || !strings.ContainsRune(latinTwins, r) {
			return false
		}
		letters++
	}
	return letters > 2
}

// asciiTwins are signs that pass for one of ASCII where it matters: in addresses,
// paths and numbers.
const asciiTwins = "\u2024\u2044\u2215\u29f8\u2010\u2011\u2012\u2212\u2236\ua789\u02d0\u01c3\u2223\u2216\u066a\u2e36\u0131\u0261\u217c\u2170"

// looksLikeASCII reports whether r is a sign of asciiTwins, a full-width form or a
// letter or digit in mathematical dress.
func looksLikeASCII(r rune) bool {
	return 0xff01 <= r && r <= 0xff5e || 0x1d400 <= r && r <= 0x1d7ff || 0x1f130 <= r && r <= 0x1f189 ||
		0x249c <= r && r <= 0x24e9 || strings.ContainsRune(asciiTwins, r)
}

// rightToLeft reports whether r is a letter of a script written from right to left
// (the blocks that Unicode sets aside for them).
func rightToLeft(r rune) bool {
	return 0x0590 <= r && r <= 0x08ff || 0xfb1d <= r && r <= 0xfdff || 0xfe70 <= r && r <= 0xfeff ||
		0x10800 <= r && r <= 0x10fff || 0x1e800 <= r && r <= 0x1efff
}
