import { versionIn } from "../../operator/migrate/check-installation.js";
import { plural } from "../../terminal/plural.js";
import type { CheckPhase } from "../check.js";
import type { CheckFinding } from "../finding-codes.js";
import { servedBy, type InstalledOperator } from "../../operator/installed-operator.js";

export interface OperatorsFacts {
  readonly phase: CheckPhase;
  readonly operators: readonly InstalledOperator[];
}

export function judgeOperators({ phase, operators }: OperatorsFacts): readonly CheckFinding[] {
  const stock = operators.filter(({ isStock }) => isStock);
  if (phase === "pre")
    return stock.map((each) => ({
      code: "other-operator",
      where: placeOf(each),
      what: "the open-feature-operator is installed",
      todo: "take it over: bunting operator migrate check says how",
    }));
  const ours = operators.filter(({ isStock }) => !isStock);
  if (operators.length === 0)
    return [
      {
        code: "operator-missing",
        where: "cluster",
        what: "no Deployment is labelled app.kubernetes.io/part-of: bunting and has a container manager",
        todo: "install the chart bunting-operator (docs/operate/operator.md)",
      },
    ];
  const several = [...stock, ...ours].flatMap((each): readonly CheckFinding[] => {
    // The open-feature-operator may be the only one: its proxy or its sidecars are ours then.
    const earlier = ours.length === 0 ? stock.slice(0, stock.indexOf(each)) : ours;
    const others = each.isStock ? earlier : ours.slice(0, ours.indexOf(each));
    const other = others.find((one) => each.isStock || serveTheSame(one, each));
    if (other === undefined) return [];
    const what = `it is there beside ${placeOf(other)}`;
    const todo = "leave one of them (docs/operate/migrate.md)";
    return [{ code: "two-operators", where: placeOf(each), what, todo }];
  });
  const unready = (ours.length === 0 ? stock : ours)
    .filter(({ readyReplicas }) => readyReplicas === 0)
    .map((each): CheckFinding => ({
      code: "operator-unready",
      where: placeOf(each),
      what: "no replica is ready",
      todo: `see why: kubectl -n ${each.namespace} logs deployment/${each.name}`,
    }));
  return [...several, ...unready];
}

/** True if there is a namespace that both serve. */
function serveTheSame(one: InstalledOperator, other: InstalledOperator): boolean {
  const [served, ofOther] = [servedBy(one), servedBy(other)];
  return served === undefined || ofOther === undefined || served.some((name) => ofOther.includes(name));
}

export interface VersionsFacts {
  readonly operators: readonly InstalledOperator[];
  readonly proxies: readonly { readonly name: string; readonly version: string | undefined }[];
  /** Images of sidecars, and how many Pods have each. */
  readonly sidecars: ReadonlyMap<string, number>;
}

/** Minor versions: those of one are compatible. An image without a version in its tag is not compared. */
export function judgeVersions({ operators, proxies, sidecars }: VersionsFacts): readonly CheckFinding[] {
  const operator = operators.find(({ isStock, image }) => !isStock && minorOf(image) !== undefined);
  const ours = minorOf(operator?.image ?? "");
  if (operator === undefined || ours === undefined) return [];
  const differ = (minor: string | undefined): boolean => minor !== undefined && minor !== ours;
  const ofProxies = proxies
    .filter(({ version = "" }) => differ(minorOf(`:${version}`)))
    .map(({ name, version = "" }) => ({
      where: `proxy ${name}`,
      what: `it is ${version}`,
      todo: "upgrade the proxy",
    }));
  const ofSidecars = [...sidecars]
    .filter(([image]) => differ(minorOf(image)))
    .map(([image, count]) => ({
      where: `sidecar ${image}`,
      what: `${plural(count, "Pod")} ${count === 1 ? "has" : "have"} it`,
      todo: "restart their workloads when it suits you, or upgrade them in place (docs/operate/upgrade-in-place.md); if new Pods have it too, --sidecar-image or --sidecar-tag of the operator names it",
    }));
  return [...ofProxies, ...ofSidecars].map(({ where, what, todo }) => ({
    code: "version-skew",
    where,
    what: `${what}, and the operator is ${ours}`,
    todo,
  }));
}

function minorOf(image: string): string | undefined {
  return versionIn(image)?.slice(0, 2).join(".");
}

function placeOf({ namespace, name }: InstalledOperator): string {
  return `Deployment ${namespace}/${name}`;
}
