import { closeSync, existsSync, openSync, readSync } from "node:fs";

/** What the API server audits: watches, lists and gets of flags, and reviews of one's own permissions. Not writes. */
export const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    {
      level: "Metadata",
      verbs: ["get", "list", "watch"],
      resources: [{ group: "core.openfeature.dev", resources: ["*"] }],
    },
    {
      level: "Metadata",
      verbs: ["create"],
      resources: [{ group: "authorization.k8s.io", resources: ["selfsubjectaccessreviews"] }],
    },
    { level: "None" },
  ],
};

export interface AuditedRequest {
  readonly id: string;
  readonly user: string;
  /** `watch`, `list`, `get`; `create` for a SelfSubjectAccessReview. */
  readonly verb: string;
  /** Path and query. */
  readonly uri: string;
  /** Undefined while a watch is open. */
  readonly status: number | undefined;
}

interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly responseStatus?: { readonly code?: number };
}

/** The audit log of one life of an API server: a killed one never writes that its watches have ended, so each has a file of its own. */
export class AuditLog {
  readonly #file: string;
  readonly #requests = new Map<string, AuditedRequest>();
  #offset = 0;
  #rest = "";

  constructor(file: string) {
    this.#file = file;
  }

  /** Watches that were answered and have not ended. */
  openWatches(user: string): AuditedRequest[] {
    return this.requests(user).filter(({ verb, status }) => verb === "watch" && status === undefined);
  }

  /** Every request so far, in the order of the first answers. */
  requests(user: string): AuditedRequest[] {
    this.#read();
    return [...this.#requests.values()].filter((request) => request.user === user);
  }

  #read(): void {
    if (!existsSync(this.#file)) return;
    const file = openSync(this.#file, "r");
    const chunk = Buffer.alloc(1024 * 1024);
    for (;;) {
      const length = readSync(file, chunk, 0, chunk.length, this.#offset);
      if (length === 0) break;
      this.#offset += length;
      this.#rest += chunk.toString("latin1", 0, length);
    }
    closeSync(file);
    const lines = this.#rest.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#add(JSON.parse(line) as AuditEvent);
  }

  #add(event: AuditEvent): void {
    const { auditID: id, verb, requestURI: uri, user, stage, responseStatus } = event;
    // ResponseStarted comes for watches only; ResponseComplete, or Panic, ends whatever it was.
    const status = stage === "ResponseStarted" ? undefined : (responseStatus?.code ?? 500);
    this.#requests.set(id, { id, verb, uri, user: user.username, status });
  }
}
