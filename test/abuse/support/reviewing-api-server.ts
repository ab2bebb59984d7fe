import { FaultyApiServer, type Exchange, type Fault } from "../../support/faulty-api-server/index.js";
import { startProxyInPod, type ProxyProcess } from "../../support/proxy-process.js";
import { TempDirectory } from "../../support/temp-directory.js";
import { TokenIssuer } from "../../support/token-issuer.js";

/** What the API server does with the review of a token. */
export type ReviewAnswer = (token: string, exchange: Exchange) => Promise<unknown>;

const path = "/apis/authentication.k8s.io/v1/tokenreviews";

/** An API server that answers TokenReviews as a test says, and tokens that only it can tell the worth of. */
export class ReviewingApiServer {
  readonly issuer = new TokenIssuer();
  /** The tokens that were reviewed, in their order. */
  readonly reviewed: string[] = [];
  answer: ReviewAnswer = (token, exchange) => answerJson(exchange, confirmed(token));
  readonly #directory = new TempDirectory();
  readonly #api: FaultyApiServer;

  private constructor(api: FaultyApiServer) {
    this.#api = api;
    this.#directory.replace("token", "any");
    this.#directory.replace("ca.crt", api.ca);
    this.#directory.replace("jwks.json", this.issuer.keySet);
    const review: Fault = async (exchange): Promise<"handled"> => {
      const { spec } = JSON.parse(await exchange.body()) as { spec: { token: string } };
      this.reviewed.push(spec.token);
      await this.answer(spec.token, exchange);
      return "handled";
    };
    api.fault({ where: ({ uri }) => uri === path }, review, Infinity);
  }

  static async start(): Promise<ReviewingApiServer> {
    return new ReviewingApiServer(await FaultyApiServer.start());
  }

  /** A proxy that has each token reviewed. */
  startProxy(args: readonly string[] = []): Promise<ProxyProcess> {
    const environment = {
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(this.#api.port),
    };
    const ours = ["--auth=token", "--token-review", "--auth-issuer", this.issuer.name];
    ours.push("--auth-jwks-file", this.#directory.file("jwks.json"));
    return startProxyInPod({ directory: this.#directory.path, environment }, [...ours, ...args]);
  }

  put(namespace: string, name: string, spec: object): void {
    this.#api.put(namespace, name, spec);
  }

  async close(): Promise<void> {
    this.#directory.remove();
    await this.#api.close();
  }
}

/** The claims of a token. */
export function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<
    string,
    unknown
  >;
}

/** The answer of an API server to which the token is good. */
export function confirmed(token: string): { status: Record<string, unknown> } {
  return {
    status: { authenticated: true, audiences: ["bunting"], user: { username: claimsOf(token)["sub"] } },
  };
}

/** Its answer about a token whose Pod or ServiceAccount was deleted. */
export const revoked = { status: { user: {}, error: "[invalid bearer token, pod has been deleted]" } };

export async function answerJson(exchange: Exchange, body: unknown): Promise<void> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  await exchange.answer(201, { "content-type": "application/json" }, text);
}

/** An answer that is none: 429, 500 and the like. */
export function refuses(code: number): ReviewAnswer {
  return async (_, exchange) => {
    await exchange.answer(code, { "content-type": "text/plain" }, "not now\n");
  };
}
