/**
 * Runs in the namespaces that `runInNamespaces` has made: mounts what a node needs, gives it a network, and runs mocha, whose arguments
 * these are. The network has no way out: Pods reach Pods, Services and the node only. Tests run here because nothing outside could reach them.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { runMocha } from "../run-mocha.js";
import { cgroupHierarchies, type CgroupHierarchy } from "./cgroups.js";

const directory = process.env["BUNTING_NODE_DIRECTORY"];
if (directory === undefined) throw new Error("run `npm run test:node`");

/** The node's own address, which a veth pair carries: not every kernel has dummy links. */
const address = "198.18.0.1";
/** Must be routed on the node itself, or the API server cannot call a Service: "network is unreachable" comes before the translation. */
const services = "10.96.0.0/24";

/** The kubelet wants these values, and would set them for the whole machine. It is shown files that have them instead. */
const sysctls: Readonly<Record<string, number>> = {
  "vm/overcommit_memory": 1,
  "vm/panic_on_oom": 0,
  "kernel/panic": 10,
  "kernel/panic_on_oops": 1,
  "kernel/keys/root_maxkeys": 1_000_000,
  "kernel/keys/root_maxbytes": 25_000_000,
};

// Read before /sys is mounted over.
const hierarchies = cgroupHierarchies();
run("mount", "--make-rshared", "/");
run("hostname", "node");
mountCgroups(hierarchies);
run("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run");
mkdirSync("/run/netns");
mkdirSync("/run/lock");
// The kubelet writes links for collectors of logs here, whatever it is told.
mkdirSync(path.join(directory, "log"));
run("mount", "--bind", path.join(directory, "log"), "/var/log");
for (const [name, value] of Object.entries(sysctls)) {
  const file = path.join(directory, "sysctl", name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${value}\n`);
  run("mount", "--bind", file, `/proc/sys/${name}`);
}
run("ip", "link", "set", "lo", "up");
run("ip", "link", "add", "node0", "type", "veth", "peer", "name", "node1");
run("ip", "addr", "add", `${address}/32`, "dev", "node0");
run("ip", "link", "set", "node0", "up");
run("ip", "link", "set", "node1", "up");
run("ip", "route", "add", services, "dev", "node0");
writeFileSync("/proc/sys/net/ipv4/ip_forward", "1");

process.exit(
  await runMocha(process.argv.slice(2), {
    environment: { BUNTING_NODE_ADDRESS: address, BUNTING_NODE_SERVICES: services },
  }),
);

/** The kubelet wants each hierarchy that /proc/self/cgroup names; in a cgroup namespace it sees its own group as the root. */
function mountCgroups(each: readonly CgroupHierarchy[]): void {
  run("mount", "-t", "sysfs", "sysfs", "/sys");
  run("mount", "-t", "tmpfs", "-o", "mode=755", "cgroup", "/sys/fs/cgroup");
  for (const { mount, controllers } of each) {
    const target = path.join("/sys/fs/cgroup", path.basename(mount));
    mkdirSync(target);
    run("mount", "-t", "cgroup", "-o", controllers.replace(/^name=/, "none,name="), "cgroup", target);
  }
}

function run(command: string, ...args: readonly string[]): void {
  execFileSync(command, args, { stdio: ["ignore", "inherit", "inherit"] });
}
