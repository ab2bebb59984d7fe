import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ApiError, type ApiClient } from "./api-client.js";

interface ServiceAccountOptions {
  readonly api: ApiClient;
  readonly namespace: string;
  readonly name: string;
  /** Created if it does not exist. */
  readonly directory: string;
  readonly certificateAuthority: Buffer;
  readonly port: number;
}

/**
 * A ServiceAccount as a pod sees it: `directory` has the files of /var/run/secrets/kubernetes.io/serviceaccount, `environment` the
 * variables that say where the API server is.
 */
export class ServiceAccount {
  readonly namespace: string;
  readonly name: string;
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly #api: ApiClient;
  #token = "";

  constructor(options: ServiceAccountOptions) {
    const { namespace, name, directory, certificateAuthority, port, api } = options;
    this.namespace = namespace;
    this.name = name;
    this.directory = directory;
    this.environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(port) };
    this.#api = api;
    mkdirSync(directory, { recursive: true });
    writeFileSync(path.join(directory, "ca.crt"), certificateAuthority);
    writeFileSync(path.join(directory, "namespace"), namespace);
  }

  /** Its user name in audit logs and RBAC. */
  get user(): string {
    return `system:serviceaccount:${this.namespace}:${this.name}`;
  }

  /** The newest token. */
  get token(): string {
    return this.#token;
  }

  /** Creates the ServiceAccount if it does not exist. After a deletion it is another one: the old tokens stay refused. */
  async create(): Promise<void> {
    const path = `/api/v1/namespaces/${this.namespace}/serviceaccounts`;
    try {
      await this.#api.create(path, { metadata: { name: this.name } });
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 409)) throw error;
    }
  }

  /** Deletes the ServiceAccount: within some 10 s its tokens are answered 401. */
  async delete(): Promise<void> {
    await this.#api.delete(`/api/v1/namespaces/${this.namespace}/serviceaccounts/${this.name}`);
  }

  /** A token that is not written anywhere; without audiences it is for the API server. */
  async requestToken(
    options: { readonly seconds?: number; readonly audiences?: readonly string[] } = {},
  ): Promise<string> {
    const { seconds: expirationSeconds = 3600, audiences } = options;
    const answer = await this.#api.create(
      `/api/v1/namespaces/${this.namespace}/serviceaccounts/${this.name}/token`,
      {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds, ...(audiences === undefined ? {} : { audiences }) },
      },
    );
    return (answer["status"] as { token: string }).token;
  }

  /** Writes a new token into the directory, atomically, as the kubelet does. The API server refuses lifetimes below 600 s. */
  async rotate(seconds = 3600): Promise<void> {
    this.#token = await this.requestToken({ seconds });
    const next = path.join(this.directory, ".token");
    writeFileSync(next, this.#token);
    renameSync(next, path.join(this.directory, "token"));
  }
}
