import { spawn } from "node:child_process";
import { get, type RequestOptions } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import type { Cluster } from "../../cluster/support/cluster.js";
import {
  policyRules,
  policyTable,
  type NetworkPolicy,
  type PolicyNamespace,
  type PolicyPod,
} from "./policy-rules.js";

const paths = {
  pods: "/api/v1/pods",
  namespaces: "/api/v1/namespaces",
  policies: "/apis/networking.k8s.io/v1/networkpolicies",
};

/**
 * Enforces NetworkPolicies: some 50 ms after a change the rules are replaced, in one transaction. Connections that are open when a policy comes
 * are not cut.
 */
export class PolicyEnforcer {
  readonly #cluster: Cluster;
  readonly #token: string;
  #isBehind = true;
  #wake: () => void = () => undefined;
  #last = "";

  /** @param token of a user who may read Pods, namespaces and policies */
  constructor(cluster: Cluster, token: string) {
    this.#cluster = cluster;
    this.#token = token;
  }

  async run(signal: AbortSignal): Promise<void> {
    const watches = Object.values(paths).map((path) => this.#watch(path, signal));
    signal.addEventListener("abort", () => this.#changed());
    while (!signal.aborted) {
      await this.#untilChanged();
      // What changes together is read together.
      await delay(30);
      await this.#apply().catch((error: unknown) => {
        console.error(`bunting: NetworkPolicies could not be applied: ${String(error)}`);
        this.#changed();
      });
    }
    await Promise.all(watches);
  }

  async #apply(): Promise<void> {
    const { api } = this.#cluster;
    const list = async (path: string): Promise<unknown> => (await api.list(path)).items;
    const text = policyRules({
      pods: (await list(paths.pods)) as PolicyPod[],
      namespaces: (await list(paths.namespaces)) as PolicyNamespace[],
      policies: (await list(paths.policies)) as NetworkPolicy[],
    });
    if (text === this.#last) return;
    await nft(`table inet ${policyTable}\ndelete table inet ${policyTable}\n${text}`);
    this.#last = text;
  }

  /** Counts changes: without a resourceVersion a watch begins with all there is. */
  async #watch(path: string, signal: AbortSignal): Promise<void> {
    const options: RequestOptions = {
      ca: this.#cluster.certificateAuthority,
      headers: { authorization: `Bearer ${this.#token}` },
      signal,
    };
    while (!signal.aborted) {
      await new Promise<void>((resolve) => {
        get(`${this.#cluster.url}${path}?watch=1`, options, (response) => {
          response.on("data", () => this.#changed());
          response.on("error", () => undefined).on("close", resolve);
        }).on("error", () => resolve());
      });
      await delay(200);
    }
  }

  #changed(): void {
    this.#isBehind = true;
    this.#wake();
  }

  async #untilChanged(): Promise<void> {
    if (!this.#isBehind) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#isBehind = false;
  }
}

async function nft(rules: string): Promise<void> {
  const child = spawn("nft", ["-f", "-"], { stdio: ["pipe", "ignore", "pipe"] });
  let error = "";
  child.stderr.on("data", (chunk: Buffer) => (error += chunk.toString()));
  child.stdin.end(rules);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`nft ended with ${code}: ${error}\n${rules}`);
}
