package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// maxWord is the longest word that is told apart from its beginning, in bytes. Base64 in a question is one such word.
const maxWord = 40

// A class says how a character behaves between words.
type class byte

const (
	gap class = iota
	lower
	upper
	digit
	ideograph // of a script that puts no spaces between words
	mark
)

func classOf(r rune) class {
	switch {
	case 'a' <= r && r <= 'z':
		return lower
	case 'A' <= r && r <= 'Z':
		return upper
	case '0' <= r && r <= '9':
		return digit
	case r < utf8.RuneSelf:
		return gap
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
		return ideograph
	case unicode.IsUpper(r):
		return upper
	case unicode.IsLetter(r):
		return lower
	case unicode.IsDigit(r):
		return digit
	case unicode.IsMark(r):
		return mark
	}
	return gap
}

// runs calls word with every run of letters and digits of the text, and pair with every two neighbours (or the only one) of a
// run of ideographs.
func runs(text string, word, pair func(string)) {
	start := -1 // of the word that is being read
	var signs []rune
	end := func(at int) {
		if start >= 0 {
			word(text[start:at])
			start = -1
		}
		if len(signs) == 1 {
			pair(string(signs))
		}
		for i := 1; i < len(signs); i++ {
			pair(string(signs[i-1 : i+1]))
		}
		signs = signs[:0]
	}
	for i, r := range text {
		switch classOf(r) {
		case gap:
			end(i)
		case mark: // belongs to what stands before it
		case ideograph:
			if start >= 0 {
				end(i)
			}
			signs = append(signs, r)
		default:
			if len(signs) > 0 {
				end(i)
			}
			if start < 0 {
				start = i
			}
		}
	}
	end(len(text))
}

// parts splits a word where its case or its kind of character changes: getHTTPUser2 is get, HTTP, User, 2.
func parts(word string) []string {
	var out []string
	signs := []rune(word)
	start := 0
	for i := 1; i < len(signs); i++ {
		a, b := classOf(signs[i-1]), classOf(signs[i])
		if a == mark || b == mark {
			continue
		}
		if (a == digit) != (b == digit) || a == lower && b == upper ||
			a == upper && b == upper && i+1 < len(signs) && classOf(signs[i+1]) == lower {
			out = append(out, string(signs[start:i]))
			start = i
		}
	}
	return append(out, string(signs[start:]))
}

// stem gives all forms of an English word one spelling. A word with any character outside a-z stays as it is, in lower case: the
// stemmer knows no other language, and "v2" is not a form of "v".
func stem(word string) string {
	word = strings.ToLower(word)
	if len(word) > maxWord {
		word = strings.ToValidUTF8(word[:maxWord], "")
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	if s, ok := irregular[word]; ok {
		return s
	}
	return english.Stem(word, true) // true: stop words are stemmed too, our own list has gone before
}

// irregular are the forms that no rule for endings brings together.
var irregular = map[string]string{
	"analysis": "analyz", "analyses": "analyz", "analytics": "analyz", "analytic": "analyz",
	"bought": "buy", "children": "child", "chose": "choos", "chosen": "choos", "drawn": "draw", "drew": "draw", "found": "find",
	"gave": "give", "given": "give", "got": "get", "indices": "index", "latest": "late", "made": "make", "nearby": "near",
	"nearest": "near", "people": "person", "recently": "recent", "sent": "send", "sold": "sell", "taken": "take",
	"took": "take", "written": "write", "wrote": "write",
}

func number(word string) bool {
	for i := range len(word) {
		if word[i] < '0' || word[i] > '9' {
			return false
		}
	}
	return true
}

// nameWords calls emit with the words of an identifier, and with what they are written together as.
func nameWords(name string, emit func(string)) {
	runs(name, func(word string) {
		split := parts(word)
		for _, part := range split {
			if !stopWords[strings.ToLower(part)] {
				emit(stem(part))
			}
		}
		if len(split) > 1 {
			emit(stem(word))
		}
	}, emit)
}

// proseWords calls emit with the words of a text that carry meaning. Short numbers count something and name nothing.
func proseWords(text string, emit func(string)) {
	runs(text, func(word string) {
		if meaning(word) && (len(word) > 4 || !number(word)) {
			emit(stem(word))
		}
	}, emit)
}

func meaning(word string) bool { return len(word) > 1 && !stopWords[strings.ToLower(word)] }

// stopWords carry no meaning of their own, in descriptions or in questions. Function words, and what a polite question begins with.
var stopWords = words(`
a an the this that these those it its itself he him his she her hers they them their theirs we us our ours i me my mine you your yours
who whom whose which what when where why how
is am are was were be been being do does did doing done have has had having will would shall should can could may might must
and or but nor so if then else than as at by for from in into of off on onto out over to up upon with without within via per about
not no yes there here all any both each every few more most other some such only own same very too also just again once
ll re ve don doesn isn aren wasn didn won couldn shouldn wouldn let lets
please help need want like tell know sure ok okay hello hi thanks thank based`)

// weakWords are in every other question and in every other tool: what is asked for stands beside them.
var weakWords = func() map[string]bool {
	weak := map[string]bool{}
	for word := range words(`
get fetch retrieve read obtain load show view find search query lookup discover locate create make generate new build produce draw
add insert append delete remove drop erase update edit modify change set save write store export list enumerate browse send post
submit run execute convert transform translate check verify validate give take go use provide recommend include choose look see
information info detail data result report thing item specific`) {
		weak[stem(word)] = true
	}
	return weak
}()

func words(text string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		all[word] = true
	}
	return all
}
