import path from "node:path";
import { readSmallFile, type Clock } from "@bunting/runtime";
import type { HttpAnswer, HttpClient } from "./http-client.js";
import { HttpFailure } from "./http-failure.js";

const maxSecretBytes = 16 * 1024;

/** Where access tokens come from: the client credentials grant of OAuth 2. */
export interface OauthConfig {
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** A directory with the files client-id and client-secret, which are used instead of the two above; "" for none. */
  readonly folder: string;
  /** How often the files are read again while a token is valid; 0 for never. They are always read before a token is requested. */
  readonly reloadDelayMs: number;
}

/** A token is not used any more this long before it expires. */
const earlyMs = 10_000;
const maxAnswerBytes = 64 * 1024;

interface Credentials {
  readonly id: string;
  readonly secret: string;
}

interface Token {
  readonly header: string;
  readonly credentials: Credentials;
  /** In ms of the monotonic clock. */
  readonly expiresMs: number;
}

/** The access token of the client credentials grant (RFC 6749, 4.4), requested when there is none, or none that is valid. */
export class AccessToken {
  readonly #config: OauthConfig;
  readonly #client: HttpClient;
  readonly #clock: Clock;
  #token: Token | undefined;
  #readMs = 0;
  /** The server does not accept the credentials in a header. */
  #inBody = false;

  constructor(config: OauthConfig, client: HttpClient, clock: Clock) {
    this.#config = config;
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * The value of the header Authorization.
   *
   * @throws HttpFailure
   */
  async header(signal: AbortSignal): Promise<string> {
    const { folder, reloadDelayMs } = this.#config;
    const nowMs = this.#clock.monotonicMs();
    const isValid = this.#token !== undefined && nowMs < this.#token.expiresMs;
    const isRead = folder === "" || reloadDelayMs === 0 || nowMs - this.#readMs < reloadDelayMs;
    if (this.#token !== undefined && isValid && isRead) return this.#token.header;
    const credentials = await this.#credentials().catch((error: unknown) => {
      // They can be read again, or the token is not valid any more, some time later.
      if (this.#token !== undefined && isValid) return this.#token.credentials;
      throw error;
    });
    this.#readMs = nowMs;
    if (this.#token !== undefined && isValid && isSame(credentials, this.#token.credentials))
      return this.#token.header;
    this.#token = await this.#request(credentials, signal);
    return this.#token.header;
  }

  /**
   * The token was refused: the next call requests another one, with the credentials that are in the folder by then.
   *
   * @returns true: it is worth asking again at once
   */
  refused(): boolean {
    this.#token = undefined;
    return true;
  }

  async #credentials(): Promise<Credentials> {
    const { folder, clientId, clientSecret } = this.#config;
    if (folder === "") return { id: clientId, secret: clientSecret };
    return { id: await readSecret(folder, "client-id"), secret: await readSecret(folder, "client-secret") };
  }

  /** Servers accept the credentials in a header, in the body, or both: what works is found out, as Go's oauth2 does. */
  async #request(credentials: Credentials, signal: AbortSignal): Promise<Token> {
    let answer = await this.#ask(credentials, signal);
    if (answer.status === 400 || answer.status === 401) {
      this.#inBody = !this.#inBody;
      const other = await this.#ask(credentials, signal);
      if (other.status === 200) answer = other;
      else this.#inBody = !this.#inBody;
    }
    return this.#read(answer, credentials);
  }

  #ask({ id, secret }: Credentials, signal: AbortSignal): Promise<HttpAnswer> {
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    const headers: Record<string, string> = {
      accept: "application/json",
      "content-type": "application/x-www-form-urlencoded",
    };
    if (this.#inBody) {
      body.set("client_id", id);
      body.set("client_secret", secret);
    } else {
      const pair = `${formEncoded(id)}:${formEncoded(secret)}`;
      headers["authorization"] = `Basic ${Buffer.from(pair).toString("base64")}`;
    }
    const text = body.toString();
    headers["content-length"] = String(text.length);
    const url = new URL(this.#config.tokenUrl);
    return this.#client.send({ method: "POST", url, headers, body: text, maxBytes: maxAnswerBytes }, signal);
  }

  #read({ status, body }: HttpAnswer, credentials: Credentials): Token {
    const { host } = new URL(this.#config.tokenUrl);
    if (status !== 200)
      throw new HttpFailure("token", `the OAuth server ${host} answered ${status}: check "oauth"`);
    const answer = parse(body);
    const { access_token: token, token_type: type = "bearer", expires_in: seconds } = answer ?? {};
    // Unprintable characters can't be sent. The answer is not shown: it may contain the token.
    if (typeof token !== "string" || token === "" || !/^[\x20-\x7e]+$/.test(`${String(type)}${token}`))
      throw new HttpFailure("token", `the OAuth server ${host} answered without a usable "access_token"`);
    const lifeSeconds = Number(seconds ?? 0);
    const scheme = String(type).toLowerCase() === "bearer" ? "Bearer" : String(type);
    return {
      header: `${scheme} ${token}`,
      credentials,
      // Without a time it is valid until it is refused.
      expiresMs:
        lifeSeconds > 0
          ? this.#clock.monotonicMs() + Math.max(1_000, lifeSeconds * 1_000 - earlyMs)
          : Infinity,
    };
  }
}

async function readSecret(folder: string, name: string): Promise<string> {
  const file = path.join(folder, name);
  const bytes = await readSmallFile(file, maxSecretBytes).catch((cause: unknown) => {
    throw new HttpFailure("credentials", `the file ${file} of "oauth" can't be read`, { cause });
  });
  const text = bytes.toString();
  if (text.trim() === "") throw new HttpFailure("credentials", `the file ${file} of "oauth" is empty`);
  return text.trim();
}

function parse(body: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isSame(a: Credentials, b: Credentials): boolean {
  return a.id === b.id && a.secret === b.secret;
}

/** As RFC 6749, 2.3.1, asks for in the header. */
function formEncoded(text: string): string {
  return new URLSearchParams({ t: text }).toString().slice(2);
}
