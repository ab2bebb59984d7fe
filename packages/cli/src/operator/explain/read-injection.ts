import type { PodRequest } from "@bunting/featureflags/resources";
import type { KubeObject } from "@bunting/kube";
import type { ClusterAnswer, ClusterReader } from "../cluster-reader.js";
import { clusterTypes, objectNames } from "../operator-names.js";
import type { ShownContainer } from "../shown-pod.js";
import type { InjectionFacts } from "./pod-facts.js";

interface CompiledEntry {
  readonly digest: string;
  readonly container?: ShownContainer;
}

type Lists<Value> = Readonly<Partial<Record<PodRequest["list"], Readonly<Record<string, Value>>>>>;
type InjectionSpec = Lists<CompiledEntry> & { readonly refused?: Lists<string> };

/** What the Injections of a namespace have for the text of a Pod's annotation; `missing` if there is no Injection. */
export async function readInjection(
  namespace: string,
  asked: Pick<PodRequest, "list" | "text"> | undefined,
  reader: Pick<ClusterReader, "find">,
): Promise<ClusterAnswer<InjectionFacts>> {
  const list = asked?.list ?? "sources";
  const text = asked?.text ?? "";
  const answers = await Promise.all(
    objectNames.injections.map((name) => reader.find({ type: clusterTypes.injection, namespace, name })),
  );
  const specs: InjectionSpec[] = [];
  for (const answer of answers) {
    if (answer.kind === "unreadable") return answer;
    if (answer.kind === "found") specs.push(specOf(answer.found));
  }
  if (specs.length === 0) return { kind: "missing" };
  const entries = specs.map((spec) => spec[list] ?? {});
  const refusals = specs.map(({ refused }) => refused?.[list] ?? {});
  return {
    kind: "found",
    found: {
      texts: entries.flatMap((each) => Object.keys(each)),
      entry: valueIn(entries, text),
      refused: valueIn(refusals, text),
    },
  };
}

function specOf({ spec }: KubeObject): InjectionSpec {
  return (spec as InjectionSpec | undefined) ?? {};
}

/** A text may be the name of something that every object has. */
function valueIn<Value>(all: readonly Readonly<Record<string, Value>>[], text: string): Value | undefined {
  return all.find((each) => Object.hasOwn(each, text))?.[text];
}
