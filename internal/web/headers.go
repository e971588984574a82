package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
)

//go:embed style.css
var styleSheet string

// setHeaders sets what every answer carries (W4).
//
// no-referrer, because the address holds the token; it makes a browser send
// "Origin: null" with our own form, which is why the cross-origin check rests on
// Sec-Fetch-Site. No CSP sandbox: it would make that same POST cross-site and the
// buttons dead.
func setHeaders(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      contentPolicy(),
		"Referrer-Policy":              "no-referrer",
		"Cache-Control":                "no-store",
		"X-Frame-Options":              "DENY",
		"X-Content-Type-Options":       "nosniff",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Permissions-Policy": "accelerometer=(), autoplay=(), camera=(), clipboard-read=(), clipboard-write=(), display-capture=(), " +
			"encrypted-media=(), fullscreen=(), geolocation=(), gyroscope=(), hid=(), identity-credentials-get=(), idle-detection=(), " +
			"local-fonts=(), magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), " +
			"screen-wake-lock=(), serial=(), storage-access=(), usb=(), xr-spatial-tracking=()",
		"Strict-Transport-Security": "max-age=63072000",
		"X-Robots-Tag":              "noindex, nofollow",
	} {
		h.Set(name, value)
	}
}

// contentPolicy allows the one inline style sheet, by its hash, and our own form.
func contentPolicy() string {
	sum := sha256.Sum256([]byte(styleSheet))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// framed reports whether a browser asks for a page to put it into another one.
// frame-ancestors hides it there, too; this keeps it from being served at all.
func framed(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "iframe", "frame", "embed", "object":
		return true
	}
	return false
}
