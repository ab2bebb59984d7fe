import { FaultProxy } from "../../support/fault-proxy.js";
import { Http2FaultProxy } from "../../support/fault-proxy-http2.js";
import type { Cluster } from "./cluster.js";
import type { ServiceAccount } from "./service-account.js";

/**
 * The path from a pod to the real API server, which fails on command: at the level of TCP (`tcp`: cut, FIN, black hole, slow) and of
 * HTTP/2 (`http2`: answers, single streams, single lines of a watch).
 */
export class FaultyPath {
  readonly tcp: FaultProxy;
  readonly http2: Http2FaultProxy;

  private constructor(tcp: FaultProxy, http2: Http2FaultProxy) {
    this.tcp = tcp;
    this.http2 = http2;
  }

  static async start(cluster: Cluster): Promise<FaultyPath> {
    const { url, certificateAuthority: ca, servingCertificate: tls } = cluster;
    const http2 = await Http2FaultProxy.start({ upstream: url, ca, tls });
    return new FaultyPath(await FaultProxy.start(http2.port), http2);
  }

  /** A pod of this account that reaches the API server by this path. */
  pod({ directory, environment }: ServiceAccount): Pick<ServiceAccount, "directory" | "environment"> {
    return {
      directory,
      environment: { ...environment, KUBERNETES_SERVICE_PORT: String(this.tcp.port) },
    };
  }

  async close(): Promise<void> {
    await this.tcp.close();
    await this.http2.close();
  }
}
