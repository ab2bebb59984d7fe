import type { IncomingHttpHeaders } from "node:http";
import { Agent, request as httpsRequest } from "node:https";

/** An object as the API server sends it; only the fields that every object has are typed. */
export interface ApiObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export interface ApiList {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly ApiObject[];
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface RequestOptions {
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  /** The token to send in place of the administrator's. */
  readonly token?: string;
}

/** The API server answered with a status other than 2xx. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  /** The reason in the Status object: `AlreadyExists`, `Invalid`, … */
  readonly reason: string | undefined;

  constructor(what: string, response: ApiResponse) {
    const status = statusOf(response.text);
    super(`${what} was answered ${response.status}: ${status?.message ?? response.text.slice(0, 500)}`);
    this.status = response.status;
    this.reason = status?.reason;
  }
}

/** The API server over HTTPS, for test setup; deliberately not the product's own client. */
export class ApiClient {
  readonly #host: string;
  readonly #port: number;
  readonly #token: string;
  readonly #certificateAuthority: () => Buffer;
  #agent = new Agent({ keepAlive: true, maxSockets: 32 });

  /** @param certificateAuthority is called with each request: the API server makes its certificate when it first starts. */
  constructor(
    { host, port }: { readonly host: string; readonly port: number },
    token: string,
    certificateAuthority: () => Buffer,
  ) {
    this.#host = host;
    this.#port = port;
    this.#token = token;
    this.#certificateAuthority = certificateAuthority;
  }

  /** Resolves with any answer; rejects only if there is none. */
  request(method: string, path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    const {
      body,
      contentType = "application/json",
      accept = "application/json",
      token = this.#token,
    } = options;
    return new Promise((resolve, reject) => {
      const request = httpsRequest({
        host: this.#host,
        port: this.#port,
        method,
        path,
        agent: this.#agent,
        ca: this.#certificateAuthority(),
        headers: { authorization: `Bearer ${token}`, accept, "content-type": contentType },
        timeout: 30_000,
      });
      request.on("timeout", () => request.destroy(new Error(`${method} ${path}: no answer for 30 s`)));
      request.on("error", (error: NodeJS.ErrnoException) => {
        // The API server ends idle connections, at any moment: what was sent on one that was in use before was read by nobody.
        if (request.reusedSocket && error.code === "ECONNRESET")
          this.request(method, path, options).then(resolve, reject);
        else reject(error);
      });
      request.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, text: Buffer.concat(chunks).toString("utf8") });
        });
      });
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  get(path: string): Promise<ApiObject> {
    return this.#call("GET", path);
  }

  async list(path: string): Promise<ApiList> {
    return (await this.#call("GET", path)) as unknown as ApiList;
  }

  /** POST to the collection. */
  create(path: string, body: unknown): Promise<ApiObject> {
    return this.#call("POST", path, { body });
  }

  replace(path: string, body: unknown): Promise<ApiObject> {
    return this.#call("PUT", path, { body });
  }

  /** A JSON merge patch: null removes a field. */
  patch(path: string, body: unknown): Promise<ApiObject> {
    return this.#call("PATCH", path, { body, contentType: "application/merge-patch+json" });
  }

  /** Server-side apply: creates or updates. */
  apply(path: string, body: unknown): Promise<ApiObject> {
    return this.#call("PATCH", `${path}?fieldManager=test&force=true`, {
      body,
      contentType: "application/apply-patch+yaml",
    });
  }

  delete(path: string): Promise<ApiObject> {
    return this.#call("DELETE", path);
  }

  /** Closes its connections: after a restart of the API server the first request on an old one would fail. */
  forgetConnections(): void {
    this.#agent.destroy();
    this.#agent = new Agent({ keepAlive: true, maxSockets: 32 });
  }

  async #call(method: string, path: string, options: RequestOptions = {}): Promise<ApiObject> {
    const response = await this.request(method, path, options);
    if (response.status < 200 || response.status > 299) throw new ApiError(`${method} ${path}`, response);
    return JSON.parse(response.text) as ApiObject;
  }
}

function statusOf(text: string): { reason?: string; message?: string } | undefined {
  try {
    return JSON.parse(text) as { reason?: string; message?: string };
  } catch {
    return undefined;
  }
}
