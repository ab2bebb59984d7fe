import { FlagdProvider } from "@openfeature/flagd-provider";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature, type Client } from "@openfeature/server-sdk";
import type { DemoOptions } from "./demo-options.js";

/** One way an application may reach its flags: an OpenFeature client over a real provider, unchanged from npm. */
export interface Way {
  readonly name: string;
  readonly client: Client;
  /** False for OFREP: its server provider sends a request for each evaluation and has no change event. */
  readonly announcesChanges: boolean;
}

const host = "127.0.0.1";

/** Connects the four ways and waits until each is ready. */
export async function connectProviders(options: DemoOptions): Promise<Way[]> {
  const selector = "default/storefront";
  const ways = [
    {
      name: "flagd provider, rpc → agent",
      provider: new FlagdProvider({ resolverType: "rpc", host, port: options.agentPort }),
    },
    {
      name: "flagd provider, in-process ← agent",
      provider: new FlagdProvider({ resolverType: "in-process", host, port: options.agentSyncPort }),
    },
    {
      name: "flagd provider, in-process ← proxy",
      provider: new FlagdProvider({ resolverType: "in-process", host, port: options.proxyPort, selector }),
    },
    {
      name: "OFREP provider → agent",
      provider: new OFREPProvider({ baseUrl: `http://${host}:${options.agentOfrepPort}` }),
    },
  ];
  return Promise.all(
    ways.map(async ({ name, provider }) => {
      await OpenFeature.setProviderAndWait(name, provider);
      return {
        name,
        client: OpenFeature.getClient(name),
        announcesChanges: !(provider instanceof OFREPProvider),
      };
    }),
  );
}

export function disconnectProviders(): Promise<void> {
  return OpenFeature.close();
}
