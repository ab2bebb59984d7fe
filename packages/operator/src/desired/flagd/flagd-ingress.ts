import type { Flagd, FlagdIngress } from "@bunting/featureflags/resources";
import type { DesiredObject } from "../desired-object.js";
import { flagdPaths } from "./flagd-paths.js";
import { flagdMetadata, type FlagdSettings } from "./flagd-settings.js";

/** The Ingress of a Flagd, also of one that does not want it: then it is what is deleted. */
export function flagdIngress(flagd: Flagd, settings: FlagdSettings): DesiredObject {
  const ingress = flagd.spec.ingress ?? { hosts: [] };
  const { annotations, hosts, tls = [], ingressClassName = "" } = ingress;
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: flagdMetadata(flagd, settings, annotations),
    spec: {
      ...(ingressClassName === "" ? {} : { ingressClassName }),
      ...(tls.length === 0 ? {} : { tls }),
      rules: hosts.map((host) => ({
        host,
        http: { paths: pathsOf(flagd.metadata.name, ingress, settings) },
      })),
    },
  };
}

function pathsOf(name: string, ingress: FlagdIngress, { ports }: FlagdSettings): readonly object[] {
  const { flagdPath = "", ofrepPath = "", syncPath = "", pathType = "" } = ingress;
  const to = (path: string, number: number): object => ({
    path,
    pathType: given(pathType, "Prefix"),
    backend: { service: { name, port: { number } } },
  });
  return [
    to(given(flagdPath, flagdPaths.evaluation), ports.evaluation),
    to(given(ofrepPath, flagdPaths.ofrep), ports.ofrep),
    to(given(syncPath, flagdPaths.sync), ports.sync),
  ];
}

function given(text: string, otherwise: string): string {
  return text === "" ? otherwise : text;
}
