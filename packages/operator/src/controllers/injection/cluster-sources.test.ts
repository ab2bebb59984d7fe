import { Informer, type ClusterWatches, type InformerOptions, type KubeObject } from "@bunting/kube";
import { aborted } from "@bunting/runtime";
import { expect } from "chai";
import { ClusterNamespaces } from "./cluster-namespaces.js";
import { ClusterSources } from "./cluster-sources.js";

describe("ClusterSources", () => {
  it("tells of a namespace whose validation is another, also of one whose FeatureFlags may have been heard of first", () => {
    let namespaces: Informer | undefined;
    const inform = (_of: unknown, options: InformerOptions<KubeObject, never>): object => {
      const informer = new Informer(options);
      namespaces = informer;
      return { name: "objects", informer, readAgain: () => Promise.resolve(), run: aborted };
    };
    const watches = { informNamespaces: inform, inform } as unknown as ClusterWatches;
    const all = new ClusterNamespaces(watches);
    const informer = namespaces;
    const sources = new ClusterSources(watches, {} as never, all);
    const heard: string[] = [];
    sources.listenToValidation((namespace) =>
      heard.push(`${namespace} ${sources.validationOf(namespace) ?? "none"}`),
    );
    let version = 0;
    const write = (name: string, validation?: string): void => {
      const resourceVersion = String(++version);
      const annotations = validation === undefined ? {} : { "bunting.dev/validation": validation };
      const object = { metadata: { name, annotations, resourceVersion } };
      informer?.event({ type: "MODIFIED", object, resourceVersion }, 1);
    };
    write("plain");
    write("shop", "warn");
    write("shop", "warn");
    write("shop", "off");
    write("shop");
    expect(heard).to.deep.equal(["shop warn", "shop off", "shop none"]);
  });
});
