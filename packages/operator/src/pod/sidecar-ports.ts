import type { Container, PodSpec } from "../api/pod-manifest.js";

/** The sidecar serves flag documents to in-process providers here, whatever its arguments say: no FeatureFlagSource has a field for it. */
const syncPort = 8015;

/** True if a container of the Pod declares a port that the sidecar will listen on. Whoever comes second could not start. */
export function portsCollide({ containers, initContainers = [] }: PodSpec, sidecar: Container): boolean {
  const taken = new Set(listeningPorts(sidecar));
  return [...containers, ...initContainers].some(({ ports = [] }) =>
    ports.some(({ containerPort, protocol = "TCP" }) => protocol === "TCP" && taken.has(containerPort)),
  );
}

/** As the open-feature-operator, we declare neither the port of OFREP nor that of synchronisation. */
function listeningPorts({ ports = [], args = [] }: Container): number[] {
  const ofrep = args.indexOf("--ofrep-port");
  const ofrepPorts = ofrep === -1 ? [] : [Number(args[ofrep + 1])];
  return [...ports.map(({ containerPort }) => containerPort), ...ofrepPorts, syncPort];
}
