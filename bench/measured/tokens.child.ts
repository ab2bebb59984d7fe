import { generateKeyPairSync, sign, verify, type KeyObject } from "node:crypto";
import { KeySet, TokenAuthenticator } from "@bunting/identity";
import { systemClock } from "@bunting/runtime";
import { serveCalls } from "../support/child-protocol.js";

/** Measures the verification of ServiceAccount tokens alone, in its own process. */

const tokenAlgorithms = ["RS256", "ES256"] as const;
export type TokenAlgorithm = (typeof tokenAlgorithms)[number];

/** Processor time of one verification, all threads included, in µs. */
export interface TokenSample {
  /** `crypto.verify` of the signature, and nothing else. */
  readonly bareUs: number;
  /** The proxy's, of tokens that it sees for the first time. */
  readonly newUs: number;
  /** The proxy's, of tokens that it has verified before. */
  readonly knownUs: number;
}

interface SignedToken {
  readonly text: string;
  readonly signed: Buffer;
  readonly signature: Buffer;
}

const issuer = "https://kubernetes.default.svc";
const audience = "bunting";
const connection = {};
/** How many callers wait at the same time, as in a storm. */
const callers = 64;

/** As the signatures of tokens are written: for ES256, the two numbers one after the other. */
function keyFor(key: KeyObject): { key: KeyObject; dsaEncoding: "ieee-p1363" } {
  return { key, dsaEncoding: "ieee-p1363" };
}

function keyPair(algorithm: TokenAlgorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  return algorithm === "RS256"
    ? generateKeyPairSync("rsa", { modulusLength: 2048 })
    : generateKeyPairSync("ec", { namedCurve: "P-256" });
}

const pairs = { RS256: keyPair("RS256"), ES256: keyPair("ES256") };
const keys = new KeySet({
  source: {
    name: "bench",
    read: () =>
      Promise.resolve({
        issuer,
        keySet: {
          keys: tokenAlgorithms.map((alg) => ({
            ...pairs[alg].publicKey.export({ format: "jwk" }),
            kid: alg,
            alg,
            use: "sig",
          })),
        },
      }),
  },
  issuers: [],
  clock: systemClock,
  logger: { info: () => undefined, warn: (_: unknown, message?: string) => fail(new Error(message)) },
});

/** What the API server signs for a Pod; each is another. */
function makeToken(algorithm: TokenAlgorithm, id: number): SignedToken {
  const seconds = Math.floor(Date.now() / 1_000);
  const claims = {
    aud: [audience],
    exp: seconds + 3_600,
    iat: seconds,
    iss: issuer,
    jti: `f3b1c2d4-0000-4000-8000-${String(id).padStart(12, "0")}`,
    "kubernetes.io": {
      namespace: "team-a",
      node: { name: "node-1", uid: "0d9dd3a1-0000-4000-8000-000000000001" },
      pod: { name: `checkout-${id}`, uid: "3e7d1a6e-0000-4000-8000-000000000002" },
      serviceaccount: { name: "checkout", uid: "3e7d1a6e-0000-4000-8000-000000000001" },
    },
    nbf: seconds,
    sub: "system:serviceaccount:team-a:checkout",
  };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const signed = Buffer.from(`${part({ alg: algorithm, kid: algorithm })}.${part(claims)}`);
  const signature = sign("sha256", signed, keyFor(pairs[algorithm].privateKey));
  return { text: `${signed.toString()}.${signature.toString("base64url")}`, signed, signature };
}

async function measure(input: { algorithm: TokenAlgorithm; tokens: number }): Promise<TokenSample> {
  const { algorithm, tokens: count } = input;
  const tokens = Array.from({ length: count }, (_, id) => makeToken(algorithm, id));
  const key = keyFor(pairs[algorithm].publicKey);
  let verified = 0;
  const authenticator = new TokenAuthenticator({
    keys,
    audience,
    clock: systemClock,
    maxCached: count,
    onVerified: (result) => (verified += result === "refused" ? 0 : 1),
  });
  const identifyAll = async (): Promise<void> => {
    let next = 0;
    const caller = async (): Promise<void> => {
      for (let token = tokens[next++]; token !== undefined; token = tokens[next++])
        await authenticator.identify({
          bearerToken: token.text,
          address: "10.0.0.1",
          certificate: undefined,
          connection,
        });
    };
    await Promise.all(Array.from({ length: callers }, caller));
  };
  const sample = {
    bareUs: await cpuUs(count, () => {
      for (const { signed, signature } of tokens)
        if (!verify("sha256", signed, key, signature)) throw new Error("a signature is wrong");
    }),
    newUs: await cpuUs(count, identifyAll),
    knownUs: await cpuUs(count, identifyAll),
  };
  if (verified !== 2 * count) throw new Error(`${verified} of ${2 * count} tokens were verified`);
  return sample;
}

/** Of each of so many. */
async function cpuUs(count: number, run: () => void | Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

const handlers = { measure };
const fail = serveCalls(handlers);
void keys.run(new AbortController().signal);

export type TokensHandlers = typeof handlers;
