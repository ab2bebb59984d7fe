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

  it("tells of a source whose generation comes again with another spec, as after a restore of etcd, and not of a status", () => {
    const informers: Informer[] = [];
    const inform = (_of: unknown, options: InformerOptions<KubeObject, never>): object => {
      const informer = new Informer(options);
      informers.push(informer);
      return { name: "objects", informer, readAgain: () => Promise.resolve(), run: aborted };
    };
    const watches = { informNamespaces: inform, inform } as unknown as ClusterWatches;
    const sources = new ClusterSources(watches, {} as never);
    const [, ofSources] = informers;
    const heard: string[] = [];
    sources.listen((namespace) => heard.push(namespace));
    const write = (resourceVersion: string, port: number, status: object): void => {
      const metadata = { name: "app", namespace: "shop", uid: "u", generation: 2, resourceVersion };
      const object = { metadata, spec: { sources: [], port }, status };
      ofSources?.event({ type: "MODIFIED", object, resourceVersion }, 1);
    };
    write("1", 9001, {});
    write("2", 9001, { digest: "a" });
    expect(heard).to.deep.equal(["shop"]);
    write("3", 9002, { digest: "a" });
    expect(heard).to.deep.equal(["shop", "shop"]);
  });
});
