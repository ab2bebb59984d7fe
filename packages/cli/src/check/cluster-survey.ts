import { featureFlagSourceType } from "@bunting/featureflags/resources";
import { KubeError, type KubeObject, type ResourceScope } from "@bunting/kube";
import { featureFlagType } from "@bunting/protocol";
import { CliError } from "../cli-error.js";
import type { ClusterReader } from "../operator/cluster-reader.js";
import { conditionsOf, stoppedRollout } from "../operator/explain/object-state.js";
import { clusterTypes, objectNames } from "../operator/operator-names.js";
import type { Io } from "../terminal/io.js";
import type { ClusterCheckOptions } from "./check-options.js";
import type { SecurityFacts } from "./judge/judge-security.js";
import { foundOr, NotCheckedError } from "./not-checked-error.js";
import { installedOperator, type InstalledOperator } from "../operator/installed-operator.js";
import { operatedBy, type OperatedBy } from "./operated-by.js";
import { PodSurvey } from "./pod-survey.js";
import { askProxies, type AskedProxies } from "./proxy/ask-proxies.js";
import { readAuthorities, readProxySecurity } from "./proxy-security.js";

/** Reason for which a FeatureFlag is refused, by its conditions, if it is. */
export interface FlagVerdict {
  readonly refusal?: string;
  /** Why its newest version goes to no further agents, if so. */
  readonly stopped?: string;
}

/**
 * Reads of a cluster what several checks need, each part once and only if one of them is made. Of objects that there are many of, only what is
 * needed is kept.
 */
export class ClusterSurvey {
  readonly reader: ClusterReader;
  readonly options: ClusterCheckOptions;
  readonly io: Io;
  readonly #parts = new Map<string, Promise<unknown>>();

  constructor(reader: ClusterReader, options: ClusterCheckOptions, io: Io) {
    this.reader = reader;
    this.options = options;
    this.io = io;
  }

  /** Operators of both makers, in all namespaces. */
  operators(): Promise<readonly InstalledOperator[]> {
    return this.#once("operators", async () => {
      const { deployment: type } = clusterTypes;
      const [ours, stock] = await Promise.all([
        this.#collect({ type, labelSelector: "app.kubernetes.io/part-of=bunting" }, installedOperator),
        this.#collect({ type, name: objectNames.stockOperator }, installedOperator),
      ]);
      const key = ({ namespace, name }: InstalledOperator): string => `${namespace}/${name}`;
      return [...new Map([...ours, ...stock].map((one) => [key(one), one])).values()];
    });
  }

  /** Where that can't be read, our operator is expected: checks that read the same say why it can't. */
  operatedBy(): Promise<OperatedBy> {
    return this.#once("operatedBy", async () => {
      try {
        const operators = await this.operators();
        if (operators.length > 0) return operatedBy({ operators, hasProxies: false, isAskedFor: false });
        const [sources, pods, proxies] = await Promise.all([this.sources(), this.pods(), this.proxies()]);
        const isAskedFor = sources.length > 0 || pods.isAsking;
        return operatedBy({ operators, hasProxies: proxies.length > 0, isAskedFor });
      } catch (error) {
        if (error instanceof NotCheckedError || error instanceof CliError) return "bunting";
        throw error;
      }
    });
  }

  sources(): Promise<readonly KubeObject[]> {
    return this.#once("sources", () => this.#collect({ type: featureFlagSourceType }, (object) => object));
  }

  /** By `namespace/name`. */
  flags(): Promise<ReadonlyMap<string, FlagVerdict>> {
    return this.#once("flags", async () => {
      const verdicts = await this.#collect({ type: featureFlagType }, (object) => {
        const conditions = conditionsOf(object);
        const refused = conditions.find(({ type, status }) => type === "Accepted" && status === "False");
        const stopped = stoppedRollout(conditions);
        const verdict: FlagVerdict = {
          ...(refused === undefined ? {} : { refusal: refused.message }),
          ...(stopped === undefined ? {} : { stopped: stopped.message }),
        };
        return [`${object.metadata.namespace ?? ""}/${object.metadata.name}`, verdict] as const;
      });
      return new Map(verdicts);
    });
  }

  /** The Pods that ask for flags. */
  pods(): Promise<PodSurvey> {
    return this.#once("pods", async () => {
      const isStock = await this.#isStockAlone();
      // A proxy at an address may be that of any namespace.
      const namespace = this.options.proxy === "" ? this.options.namespace : undefined;
      const survey = new PodSurvey(namespace, isStock);
      await this.#collect({ type: clusterTypes.pod }, (object) => {
        survey.add(object);
        return undefined;
      });
      return survey;
    });
  }

  /** The status of each proxy, by its own account. */
  proxies(): Promise<AskedProxies> {
    return this.#once("proxies", () => askProxies(this.options, this.io));
  }

  /** The security of the operator's proxy; undefined where there is no operator of ours. */
  security(): Promise<SecurityFacts | undefined> {
    return this.#once("security", async () => {
      const operator = (await this.operators()).find(({ isStock }) => !isStock);
      return operator && readProxySecurity(operator, this.reader);
    });
  }

  /** By namespace: what its sidecars verify the proxy by. */
  authorities(): Promise<ReadonlyMap<string, string>> {
    return this.#once("authorities", () => readAuthorities(this.reader));
  }

  /** The version of the API server, such as `v1.36.1`. @throws KubeError */
  version(): Promise<string> {
    return this.#once("version", async () => {
      const answer = await this.reader.client.raw({ method: "GET", path: "/version" }, this.reader.signal);
      const { gitVersion } = (answer ?? {}) as { readonly gitVersion?: unknown };
      if (typeof gitVersion === "string") return gitVersion;
      throw new KubeError("PROTOCOL", "/version answered with something that is no version");
    });
  }

  /** The first of these versions in which the API server has this resource. */
  async servesAny(group: string, versions: readonly string[], plural: string): Promise<string | undefined> {
    for (const version of versions) {
      const path = `/apis/${group}/${version}`;
      const list = foundOr(await this.reader.findAt(path), path, {});
      const { resources = [] } = list as { readonly resources?: readonly { readonly name: string }[] };
      if (resources.some(({ name }) => name === plural)) return version;
    }
    return undefined;
  }

  async #isStockAlone(): Promise<boolean> {
    try {
      const operators = await this.operators();
      return operators.length > 0 && operators.every(({ isStock }) => isStock);
    } catch (error) {
      if (error instanceof NotCheckedError) return false;
      throw error;
    }
  }

  async #collect<Found>(
    scope: ResourceScope,
    pick: (object: KubeObject) => Found | undefined,
  ): Promise<readonly Found[]> {
    return foundOr(await this.reader.collect(scope, pick), scope.type.plural, []);
  }

  #once<Part>(name: string, read: () => Promise<Part>): Promise<Part> {
    const known = this.#parts.get(name) as Promise<Part> | undefined;
    if (known !== undefined) return known;
    const reading = read();
    this.#parts.set(name, reading);
    return reading;
  }
}
