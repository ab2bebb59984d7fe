import type { InjectionEntry } from "../api/injection.js";
import { sidecarName } from "../api/names.js";
import type { PodSpec } from "../api/pod-manifest.js";

/** The sidecar serves flag documents to in-process providers here, whatever its arguments say: no FeatureFlagSource has a field for it. */
const syncPort = 8015;
/** The volume of a Pod whose applications talk to the sidecar by a socket, in place of the port that is named as it. */
const socketVolume = "bunting-socket";

/** True if a container of the Pod declares a port that the sidecar will listen on. Whoever comes second could not start. */
export function portsCollide({ containers, initContainers = [] }: PodSpec, entry: InjectionEntry): boolean {
  const taken = new Set(listeningPorts(entry));
  return [...containers, ...initContainers].some(({ ports = [] }) =>
    ports.some(({ containerPort, protocol = "TCP" }) => protocol === "TCP" && taken.has(containerPort)),
  );
}

/** As the open-feature-operator, we declare neither the port of OFREP nor that of synchronisation. */
function listeningPorts({
  container: { ports = [], args = [] } = { name: "" },
  volumes,
}: InjectionEntry): number[] {
  const hasSocket = volumes.some(({ name }) => name === socketVolume);
  const declared = ports.filter(({ name }) => name !== sidecarName || !hasSocket);
  const ofrep = args.indexOf("--ofrep-port");
  const ofrepPorts = ofrep === -1 ? [] : [Number(args[ofrep + 1])];
  return [...declared.map(({ containerPort }) => containerPort), ...ofrepPorts, syncPort];
}
