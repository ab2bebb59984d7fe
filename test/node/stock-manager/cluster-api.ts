import { readFileSync } from "node:fs";
import { request } from "node:https";

const account = "/var/run/secrets/kubernetes.io/serviceaccount";

/** An object as far as the manager reads any. */
export interface StoredObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly generation?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly unknown[];
  };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly items?: readonly StoredObject[];
}

/** One request with the rights of the Pod. Undefined for an object that does not exist; writes are by the field manager `manager`, as the binary is called. */
export async function ask(
  method: "GET" | "POST" | "PUT",
  path: string,
  body?: unknown,
): Promise<StoredObject | undefined> {
  const { status, text } = await send(method, method === "GET" ? path : `${path}?fieldManager=manager`, body);
  if (status === 404 && method === "GET") return undefined;
  if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
  return JSON.parse(text) as StoredObject;
}

function send(
  method: string,
  path: string,
  body: unknown,
): Promise<{ readonly status: number; readonly text: string }> {
  const token = readFileSync(`${account}/token`, "utf8");
  const options = {
    method,
    host: process.env["KUBERNETES_SERVICE_HOST"],
    port: process.env["KUBERNETES_SERVICE_PORT"],
    path,
    ca: readFileSync(`${account}/ca.crt`),
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    timeout: 5_000,
  };
  return new Promise((resolve, reject) => {
    const call = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    });
    call.on("timeout", () => call.destroy(new Error(`${method} ${path}: no answer`)));
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
