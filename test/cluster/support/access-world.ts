import { networkInterfaces } from "node:os";
import type { TopicRelation } from "../../../scripts/access-matrix.js";
import { startProxyInPod, type ProxyProcess } from "../../support/proxy-process.js";
import type { Cluster } from "./cluster.js";
import { flagSpec } from "./proxy-under-test.js";
import type { ServiceAccount } from "./service-account.js";

const rbac = "/apis/rbac.authorization.k8s.io/v1";

/** The verbs that the options of the proxy need beyond reading FeatureFlags, as docs/operate/security.md lists them. */
const accessRules = [
  { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
  { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] },
];

/** An address of this machine that a Pod could have; undefined if it has only loopback. */
export function podAddressOfMachine(family: "IPv4" | "IPv6"): string | undefined {
  return Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .find(
      ({ internal, address, ...other }) =>
        !internal && other.family === family && !address.startsWith("fe80:"),
    )?.address;
}

/** Two namespaces with FeatureFlags, ServiceAccounts, and what may be read by whom: the world of the access matrix. */
export class AccessWorld {
  readonly cluster: Cluster;
  /** The caller's namespace. */
  readonly teamA: string;
  readonly teamB: string;
  readonly #account: ServiceAccount;

  private constructor(cluster: Cluster, teamA: string, teamB: string, account: ServiceAccount) {
    this.cluster = cluster;
    this.teamA = teamA;
    this.teamB = teamB;
    this.#account = account;
  }

  static async create(cluster: Cluster): Promise<AccessWorld> {
    const [teamA, teamB] = [await cluster.createNamespace(), await cluster.createNamespace()];
    const account = await cluster.createServiceAccountToken(await cluster.createNamespace(), "proxy");
    await cluster.grantStockRole(account);
    const world = new AccessWorld(cluster, teamA, teamB, account);
    await world.#grantReviews();
    await cluster.putFeatureFlag(teamA, "flags", flagSpec(1));
    await cluster.putFeatureFlag(teamB, "flags", flagSpec(1));
    await cluster.putFeatureFlag(teamB, "in-role", flagSpec(1));
    await world.share("shared-namespace", teamA);
    await world.share("shared-account", `${teamA}/web`);
    await world.share("shared-other", `${teamA}/other`);
    for (const name of ["web", "other"]) await world.createAccount(name);
    await world.grantRole("in-role");
    await cluster.putFeatureFlag(teamA, "own-in-role", flagSpec(1));
    await world.grantRoleToNamespace("own-in-role");
    return world;
  }

  /** The user name of the proxy, for the audit log. */
  get proxy(): { readonly user: string } {
    return this.#account;
  }

  /** The selector of a topic of the matrix. */
  topic(relation: TopicRelation): string {
    const { teamA, teamB } = this;
    const topics: Record<TopicRelation, string> = {
      own: `${teamA}/flags`,
      ownMissing: `${teamA}/missing`,
      ownInRole: `${teamA}/own-in-role`,
      foreign: `${teamB}/flags`,
      foreignMissing: `${teamB}/missing`,
      sharedWithNamespace: `${teamB}/shared-namespace`,
      sharedWithAccount: `${teamB}/shared-account`,
      sharedWithOther: `${teamB}/shared-other`,
      inRole: `${teamB}/in-role`,
    };
    return topics[relation];
  }

  startProxy(args: readonly string[]): Promise<ProxyProcess> {
    return startProxyInPod(this.#account, args);
  }

  /** Sets the annotation of a FeatureFlag of team B. */
  async share(name: string, readers: string): Promise<void> {
    await this.cluster.putFeatureFlag(this.teamB, name, flagSpec(1), {
      annotations: { "bunting.dev/readers": readers },
    });
  }

  async createAccount(name: string): Promise<void> {
    await this.cluster.api.create(this.#accounts, { metadata: { name } });
  }

  async deleteAccount(name: string): Promise<void> {
    await this.cluster.api.delete(`${this.#accounts}/${name}`);
  }

  /** A token that the API server made for a ServiceAccount of team A, bound to one of its Pods if that is named. */
  async token(name: string, audience = "bunting", pod?: string): Promise<string> {
    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: pod };
    const answer = await this.cluster.api.create(`${this.#accounts}/${name}/token`, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        audiences: [audience],
        expirationSeconds: 3600,
        ...(pod === undefined ? {} : { boundObjectRef }),
      },
    });
    return (answer["status"] as { token: string }).token;
  }

  /** Lets the ServiceAccount web of team A get one FeatureFlag of team B. */
  async grantRole(flag: string): Promise<void> {
    await this.#bind(this.teamB, flag, { kind: "ServiceAccount", name: "web", namespace: this.teamA });
  }

  /** Lets all ServiceAccounts of team A get one of its FeatureFlags. */
  async grantRoleToNamespace(flag: string): Promise<void> {
    const name = `system:serviceaccounts:${this.teamA}`;
    await this.#bind(this.teamA, flag, { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name });
  }

  async removeRole(name: string): Promise<void> {
    await this.cluster.api.delete(`${rbac}/namespaces/${this.teamB}/roles/${name}`);
  }

  /** A Pod of team A, or of another namespace, as it would run on a node: there are no nodes here, so this writes its status. */
  async createPod(
    name: string,
    address: string,
    options: { readonly hostNetwork?: boolean; readonly namespace?: string; readonly account?: string } = {},
  ): Promise<void> {
    const { hostNetwork = false, namespace = this.teamA, account = "web" } = options;
    const pods = `/api/v1/namespaces/${namespace}/pods`;
    await this.cluster.api.create(pods, {
      metadata: { name },
      spec: {
        serviceAccountName: account,
        automountServiceAccountToken: false,
        hostNetwork,
        containers: [{ name: "app", image: "app" }],
      },
    });
    await this.cluster.api.patch(`${pods}/${name}/status`, {
      status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
    });
  }

  async deletePod(name: string, namespace = this.teamA): Promise<void> {
    await this.cluster.api.delete(`/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`);
  }

  get #accounts(): string {
    return `/api/v1/namespaces/${this.teamA}/serviceaccounts`;
  }

  async #bind(namespace: string, flag: string, subject: Readonly<Record<string, string>>): Promise<void> {
    const roles = `${rbac}/namespaces/${namespace}`;
    const rule = { apiGroups: ["core.openfeature.dev"], resources: ["featureflags"], verbs: ["get"] };
    await this.cluster.api.create(`${roles}/roles`, {
      metadata: { name: flag },
      rules: [{ ...rule, resourceNames: [flag] }],
    });
    await this.cluster.api.create(`${roles}/rolebindings`, {
      metadata: { name: flag },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: flag },
      subjects: [subject],
    });
    await this.cluster.untilAllowed(
      { namespace: this.teamA, name: "web" },
      { resource: "featureflags", verb: "get", namespace, name: flag },
    );
  }

  async #grantReviews(): Promise<void> {
    const { namespace, name } = this.#account;
    const role = `access-reviews-${namespace}`;
    await this.cluster.api.create(`${rbac}/clusterroles`, { metadata: { name: role }, rules: accessRules });
    await this.cluster.api.create(`${rbac}/clusterrolebindings`, {
      metadata: { name: role },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    });
  }
}
