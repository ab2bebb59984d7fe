import { createHmac, sign } from "node:crypto";

type Json = Readonly<Record<string, unknown>>;

/** A token taken apart, to be put together again otherwise: what TokenRequest can't make, such as an expired one. */
export interface OpenedToken {
  readonly header: Json;
  readonly claims: Json;
  readonly signature: string;
}

export function openToken(token: string): OpenedToken {
  const [header = "", claims = "", signature = ""] = token.split(".");
  return { header: parse(header), claims: parse(claims), signature };
}

/** @param privateKey of the API server, in PEM: the signature is as good as its own */
export function signToken(
  { header, claims }: Pick<OpenedToken, "header" | "claims">,
  privateKey: string,
): string {
  const signed = unsigned({ header, claims });
  return `${signed}.${sign("RSA-SHA256", Buffer.from(signed), privateKey).toString("base64url")}`;
}

/** With HS256, as a verifier accepts it that takes any key for any algorithm. */
export function signWithSecret(
  { header, claims }: Pick<OpenedToken, "header" | "claims">,
  secret: string,
): string {
  const signed = unsigned({ header: { ...header, alg: "HS256" }, claims });
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

/** The first two parts. */
export function unsigned({ header, claims }: Pick<OpenedToken, "header" | "claims">): string {
  return [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
}

function parse(part: string): Json {
  return JSON.parse(Buffer.from(part, "base64url").toString()) as Json;
}
