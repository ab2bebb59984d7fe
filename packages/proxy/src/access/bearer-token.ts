import { IdentityError } from "@bunting/identity";

/** The tokens of ServiceAccounts have about 1 KB; nothing longer is parsed. */
const maxHeaderCharacters = 8 * 1024;

/**
 * The token of an `authorization` header; undefined without one.
 *
 * @throws IdentityError if the header is of another kind, of several tokens, or too long: a caller that presents something is not let in as anonymous
 */
export function bearerToken(header: string | undefined): string | undefined {
  if (header === undefined || header === "") return undefined;
  if (header.length > maxHeaderCharacters)
    throw new IdentityError("TOKEN_TOO_LARGE", "the authorization header is longer than 8 KiB");
  // No token has a comma. Several headers are joined by it.
  if (header.includes(","))
    throw new IdentityError(
      "TOKEN_MALFORMED",
      "there has to be one authorization header, with one token, and there are several",
    );
  const separator = header.indexOf(" ");
  const token = header.slice(separator + 1).trim();
  if (header.slice(0, separator).toLowerCase() !== "bearer" || token === "")
    throw new IdentityError(
      "TOKEN_MALFORMED",
      "the authorization header has to be Bearer, a space, and a token",
    );
  return token;
}
