// Package signurl makes and checks the signed links by which a person opens an
// approval page.
//
// A link holds one compact JWS (RFC 7515) signed with Ed25519 (RFC 8037). The
// function that mints links and the function that checks them are different: the
// checker holds public keys only, so taking it over does not let anyone mint. A
// link names one approver and one decision digest; it holds no arguments and no
// tool name, because addresses leak into histories and logs.
//
//	signer, err := signurl.NewSigner(kid, private)     // the notifier
//	token, err := signer.Sign(signurl.Claims{...})
//	link := signurl.Link(audience, token)              // https://host/a?t=...
//
//	verifier := signurl.NewVerifier(audience, publicKeys) // the approve page
//	claims, err := verifier.Verify(token, now)
//	// errors.Is(err, signurl.ErrExpired): claims are genuine, but too old
//
// # Promises
//
//   - S1. One token has one spelling. Verify accepts only the bytes that Sign would
//     produce for the same claims: other alphabets, padding, altered trailing bits,
//     white space, reordered or additional members are refused.
//   - S2. Algorithm and type are fixed and not read from the token. An unknown key id
//     is refused without any look-up outside the given keys.
//   - S3. A token counts for exactly one audience, so a link of one stage opens
//     nothing on another.
//   - S4. Claims are returned only when the signature holds; with ErrExpired they are
//     genuine.
//   - S5. Every refusal except expiry is the same ErrInvalid, so that answers teach
//     nothing. No error holds a token or a key.
//
// # Left to others
//
// Whether the call still waits, whether its digest is the one in the link, whether
// the approver is still allowed: all that is the ledger's and the gateway's. Single
// use lives there, too; a token may be checked any number of times.
package signurl
