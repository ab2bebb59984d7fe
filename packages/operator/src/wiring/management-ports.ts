import { within, type Component, type Registry } from "@bunting/runtime";
import { chargeAnswer, defaultPeerMemoryBytes, type PortListener } from "@bunting/server";
import { OperatorError } from "../operator-error.js";
import type { OperatorReadiness } from "../operator-readiness.js";
import type { BindAddress } from "../option-values.js";
import type { OperatorWiring } from "./operator-wiring.js";

/** Time that pending requests, such as Prometheus's, have when a port closes. */
const graceMs = 1_000;

/** The ports of probes and metrics: one, or two as the open-feature-operator has. Both serve the same pages. */
export function managementPorts(
  wiring: OperatorWiring,
  { readiness, registry }: { readonly readiness: OperatorReadiness; readonly registry: Registry },
): Component[] {
  const { options, parts, context } = wiring;
  const memory = new parts.PeerMemory(defaultPeerMemoryBytes(1) / 8, "any");
  const http = parts.managementHandler(() => readiness.check(), registry, { onMetrics: chargeAnswer });
  const { healthProbeBindAddress: health, metricsBindAddress: metrics } = options;
  const addresses: [name: string, optionName: string, address: BindAddress | "off"][] = [
    ["management", "--health-probe-bind-address", health],
    ["metrics", "--metrics-bind-address", isSame(health, metrics) ? "off" : metrics],
  ];
  return addresses.flatMap(([name, optionName, endpoint]) => {
    if (endpoint === "off") return [];
    const port = new parts.PortListener({ endpoint, optionName, logger: context.logger, memory, http });
    return [listeningComponent(wiring, name, port)];
  });
}

function listeningComponent({ context }: OperatorWiring, name: string, port: PortListener): Component {
  return {
    name: `${name} port`,
    reason: "starts first and stops last: probes and Prometheus see the start and the stop",
    start: async () => {
      await port.listen().catch((cause: unknown) => {
        throw new OperatorError("PORT_UNUSABLE", (cause as Error).message, { cause });
      });
      context.logger.info({ service: name, port: port.port }, "listening");
    },
    stop: async () => {
      await within(graceMs, port.stopListening());
      await port.close();
    },
  };
}

/** Port 0 is another one each time. */
function isSame(one: BindAddress | "off", other: BindAddress | "off"): boolean {
  if (one === "off" || other === "off") return false;
  return one.port !== 0 && one.port === other.port && one.host === other.host;
}
