import { expect } from "chai";
import { sidecarVolumes, socketProblem, type VolumeNeeds } from "./sidecar-volumes.js";

const needs: VolumeNeeds = { hasIdentity: false, socketPath: "", files: [], secrets: [], namespace: "shop" };
const of = (over: Partial<VolumeNeeds>) => sidecarVolumes({ ...needs, ...over });

describe("sidecarVolumes", () => {
  it("are the copies of flags, for the sidecar alone", () => {
    expect(of({})).to.deep.equal({
      volumes: [{ name: "bunting-cache", emptyDir: { sizeLimit: "64Mi" } }],
      agentMounts: [{ name: "bunting-cache", mountPath: "/var/cache/bunting" }],
      applicationMounts: [],
      evictable: ["bunting-cache"],
    });
  });

  it("are the directory of the socket, for all containers", () => {
    const { volumes, agentMounts, applicationMounts } = of({ socketPath: "/run/of/flagd.sock" });
    const mount = { name: "bunting-socket", mountPath: "/run/of" };
    expect(volumes[1]).to.deep.equal({
      name: "bunting-socket",
      emptyDir: { medium: "Memory", sizeLimit: "1Mi" },
    });
    expect([agentMounts[1], applicationMounts]).to.deep.equal([mount, [mount]]);
  });

  it("are a token of the proxy's audience and its authority, which may come later, for the sidecar alone", () => {
    const { volumes, agentMounts, applicationMounts } = of({ hasIdentity: true });
    expect(volumes[1]).to.deep.equal({
      name: "bunting-identity",
      projected: {
        sources: [
          { serviceAccountToken: { audience: "bunting", expirationSeconds: 3600, path: "token" } },
          {
            configMap: { name: "bunting-ca", optional: true, items: [{ key: "ca.crt", path: "ca.crt" }] },
          },
        ],
      },
    });
    expect(agentMounts[1]).to.deep.equal({
      name: "bunting-identity",
      mountPath: "/var/run/secrets/bunting",
      readOnly: true,
    });
    expect(applicationMounts).to.deep.equal([]);
  });

  it("are the Secrets of sources, each key once with its servers, for the sidecar alone, and may come later", () => {
    const secret = (name: string, key: string) => ({ name, key, tokenFile: "", hostsFile: "" });
    const secrets = [
      secret("api", "token"),
      secret("other", "token"),
      secret("api", "b"),
      secret("api", "b"),
    ];
    const { volumes, agentMounts, applicationMounts } = of({ secrets });
    const items = (name: string, keys: readonly string[]): object => ({
      secret: { name, optional: true, items: keys.map((key) => ({ key, path: `${name}/${key}` })) },
    });
    expect(volumes[1]).to.deep.equal({
      name: "bunting-credentials",
      projected: { sources: [items("api", ["hosts", "token", "b"]), items("other", ["hosts", "token"])] },
    });
    expect(agentMounts[1]).to.deep.equal({
      name: "bunting-credentials",
      mountPath: "/var/run/secrets/bunting-sources",
      readOnly: true,
    });
    expect(applicationMounts).to.deep.equal([]);
  });

  it("have names of their own, whatever FeatureFlags are called", () => {
    const files = ["bunting-cache", "bunting-identity", "bunting-socket"].map((name) => ({
      namespace: "shop",
      name,
    }));
    const { volumes } = of({ files, hasIdentity: true, socketPath: "/run/of/flagd.sock" });
    expect(new Set(volumes.map(({ name }) => name)).size).to.equal(6);
    expect(volumes.at(-1)).to.have.nested.property("configMap.name", "bunting-socket");
  });

  it("are a ConfigMap of the Pods' namespace for each FeatureFlag that is read as a file, once", () => {
    const flag = { namespace: "shop", name: "limits" };
    const { volumes, agentMounts } = of({ files: [flag, { namespace: "team", name: "limits" }, flag] });
    expect(volumes.slice(1)).to.have.length(2);
    const name = volumes[1]?.name ?? "";
    expect(volumes[1]).to.deep.equal({ name, configMap: { name: "limits", optional: true } });
    expect(agentMounts[1]).to.deep.equal({
      name,
      mountPath: "/etc/flagd/shop_limits",
      readOnly: true,
    });
    const foreign = volumes[2] as { readonly name: string; readonly configMap: { readonly name: string } };
    expect(foreign.name).to.match(/^bunting-flags-[0-9a-f]{16}$/);
    expect(foreign.configMap.name).to.match(/^flags-[0-9a-f]{16}$/);
    expect(agentMounts[2]).to.deep.include({ name: foreign.name, mountPath: "/etc/flagd/team_limits" });
  });

  it("have names that volumes may have, and that none of a Pod has, whatever the FeatureFlag is called", () => {
    for (const name of ["limits.v2", "data", "x".repeat(253)]) {
      const { volumes } = of({ files: [{ namespace: "shop", name }] });
      const volume = volumes[1] as { readonly name: string; readonly configMap: { readonly name: string } };
      expect(volume.name).to.match(/^bunting-flags-[0-9a-f]{16}$/);
      expect(volume.configMap.name).to.equal(name);
    }
  });
});

describe("socketProblem", () => {
  for (const path of [
    "/run/openfeature/flagd.sock",
    "/var/run/flagd/s",
    "/flagd/s",
    "/tmp/flagd/s",
    "/app/s",
  ])
    it(`lets a socket be at ${path}`, () => {
      expect(socketProblem(path)).to.equal(undefined);
    });

  for (const path of [
    "flagd.sock",
    "/flagd.sock",
    "/tmp/flagd.sock",
    "/run/flagd.sock",
    "/var/run/flagd.sock",
    "/etc/s",
    "/usr/bin/s",
    "/usr/lib/s",
    "/dev/shm/s",
    "/proc/1/s",
    "/var/run/secrets/kubernetes.io/s",
    "/var/cache/bunting/s",
    "/etc/flagd/a/s",
    "/run/of/",
    "/run/of/../s",
    "/run//of/s",
    "/run/a:b/s",
    `/run/${"a".repeat(110)}/s`,
  ])
    it(`lets none be at ${path.slice(0, 40)}, and says where it could be`, () => {
      expect(socketProblem(path)?.reason).to.equal("InvalidSetting");
      expect(socketProblem(path)?.message).to.contain("/run/openfeature/flagd.sock");
    });
});
