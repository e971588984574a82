package awscheck

import (
	"strings"
)

func valueChecks() []check {
	return []check{
		{"every kind of value reads back as it was written", "Supported data types", func(c *C) {
			every := make([]byte, 256)
			for i := range every {
				every[i] = byte(i)
			}
			r := row{"binary": every, "null": nil, "no": false, "yes": true, "numbers": nums{"1", "2.5"}, "texts": texts{"a", "é"}, "blobs": blobs{{0}, {1, 2}},
				"nested": []any{row{"empty list": []any{}}, row{}}, "empty": "", "empty binary": []byte{}, "unicode": "naïve 🙂 \u0000\u2028"}
			c.put("x", r)
			want := c.full("x", r)
			want["nested"] = []any{row{"empty list": []any{}}, row(nil)}
			c.want("the item", c.get("x"), want)
		}},
		{"thirty-eight digits are exact, stored and computed", "Number type: up to 38 digits of precision", func(c *C) {
			tiny := num("-0.00000000000000000000000000000000000001")
			digits := "12345678901234567890123456789012345678"
			c.put("x", row{"n": num(digits), "f": num("0.1"), "tiny": tiny, "big": num("9007199254740993")})
			got := c.mustUpdate(change{sk: "x", update: "SET #n = #n + :one, #f = #f + :f, #big = #big - :one", condition: "#n = :digits AND #tiny = :tiny",
				values: row{":one": 1, ":f": num("0.2"), ":digits": num(digits), ":tiny": tiny}, returns: "ALL_NEW"})
			delete(got, "tiny") // its text is AWS's choice
			c.want("the item", got, c.full("x", row{"n": num("12345678901234567890123456789012345679"), "f": num("0.3"), "big": num("9007199254740992")}))
		}},
		{"numbers come back without leading zeros, trailing zeros or exponent", "Number type: leading and trailing zeroes are trimmed", func(c *C) {
			c.put("x", row{"a": num("1.0"), "b": num("1e3"), "c": num("007"), "d": num("12.50E-1")})
			c.want("the item", c.get("x"), c.full("x", row{"a": num("1"), "b": num("1000"), "c": num("7"), "d": num("1.25")}))
		}},
		{"a number that does not fit is refused, not rounded", "Number type: 38 digits, 1E-130 to 9.99E+125", func(c *C) {
			for _, n := range []num{"123456789012345678901234567890123456789", "1e126", "1e-131", "abc", "", "1e", "0x10", "NaN", "Infinity", "1_000"} {
				c.refused("the number "+string(n), c.tryPut("x", row{"n": n}), invalid)
			}
			c.put("x", row{"n": num("99999999999999999999999999999999999999")})
			_, err := c.update(change{sk: "x", update: "SET #n = #n + :tenth", values: row{":tenth": num("0.1")}})
			c.refused("a sum of 39 digits", err, invalid)
		}},
		{"an item of 400 KB is stored, one byte more is refused", "Item size limit: 400 KB, names and values", func(c *C) {
			room := 400*1024 - len("pk") - len(c.pk) - len("sk") - len("x") - len("big")
			c.refused("409,601 bytes", c.tryPut("x", row{"big": strings.Repeat("a", room+1)}), invalid)
			c.put("x", row{"big": strings.Repeat("a", room)})
			_, err := c.update(change{sk: "x", update: "SET #m = :m", values: row{":m": "b"}})
			c.refused("an update beyond the limit", err, invalid)
		}},
		{"an empty key is refused, an empty attribute is not", "Empty values: key attributes must be non-empty", func(c *C) {
			c.refused("an empty sort key", c.tryPut("", row{}), invalid)
			c.refused("an empty index key", c.tryPut("x", row{"g": ""}), invalid)
			c.put("x", row{"v": ""})
		}},
		{"a key that is missing, of another kind or too many is refused", "The provided key element does not match the schema", func(c *C) {
			_, err := c.db.GetItem(c.ctx, getInput(c, row{"pk": c.pk}))
			c.refused("no sort key", err, invalid)
			_, err = c.db.GetItem(c.ctx, getInput(c, row{"pk": c.pk, "sk": 1}))
			c.refused("a number as sort key", err, invalid)
			_, err = c.db.GetItem(c.ctx, getInput(c, row{"pk": c.pk, "sk": "x", "more": "y"}))
			c.refused("a third attribute", err, invalid)
			c.refused("a put with a number as key", c.tryPut("x", row{"pk": 1}), invalid)
		}},
		{"a key over its length is refused", "Partition key 2048 bytes, sort key 1024 bytes", func(c *C) {
			c.put(strings.Repeat("k", 1024), row{})
			c.refused("a sort key of 1,025 bytes", c.tryPut(strings.Repeat("k", 1025), row{}), invalid)
			c.refused("a partition key of 2,049 bytes", c.tryPut("x", row{"pk": strings.Repeat("k", 2049)}), invalid)
		}},
		{"an empty set, a set with a duplicate, and too deep a document are refused", "Sets are non-empty and unique; 32 levels of nesting", func(c *C) {
			c.refused("an empty set", c.tryPut("x", row{"s": texts{}}), invalid)
			c.refused("a duplicate", c.tryPut("x", row{"s": texts{"a", "a"}}), invalid)
			deep := any("bottom")
			for range 40 {
				deep = []any{deep}
			}
			c.refused("40 levels", c.tryPut("x", row{"deep": deep}), invalid)
		}},
	}
}
