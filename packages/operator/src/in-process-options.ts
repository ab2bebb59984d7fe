import { choice, integer, option, optionGroup, port, text, toggle } from "@bunting/runtime";

/** What holds for applications that evaluate flags themselves, where an InProcessConfiguration says nothing. */
export const inProcessOptionTable = optionGroup("Evaluation in process", {
  inProcessHost: option({
    type: text,
    default: "localhost",
    describe: "Host that serves flags.",
    env: ["IN_PROCESS_HOST"],
  }),
  inProcessPort: option({
    type: port,
    default: 8015,
    describe: "Its port.",
    env: ["IN_PROCESS_PORT"],
  }),
  inProcessSocketPath: option({
    type: text,
    default: "",
    describe: "A unix socket, in place of host and port.",
    env: ["IN_PROCESS_SOCKET_PATH"],
  }),
  inProcessTls: option({
    type: toggle,
    default: false,
    describe: "The host speaks TLS.",
    env: ["IN_PROCESS_TLS"],
  }),
  inProcessOfflineFlagSourcePath: option({
    type: text,
    default: "",
    describe: "A file with flags, in place of a host.",
    env: ["IN_PROCESS_OFFLINE_FLAG_SOURCE_PATH"],
  }),
  inProcessSelector: option({
    type: text,
    default: "",
    describe: "Selector of the flags at the host.",
    env: ["IN_PROCESS_SELECTOR"],
  }),
  inProcessCache: option({
    type: choice("lru", "disabled"),
    default: "lru",
    describe: "Cache of the provider.",
    env: ["IN_PROCESS_CACHE"],
  }),
  inProcessCacheMaxSize: option({
    type: integer({ min: 0, max: 1_000_000_000 }),
    default: 1_000,
    describe: "Its size, in entries.",
    env: ["IN_PROCESS_CACHE_MAX_SIZE"],
  }),
  inProcessEnvVarPrefix: option({
    type: text,
    default: "FLAGD",
    describe: "What the names of the variables that applications get begin with.",
    env: ["IN_PROCESS_ENV_VAR_PREFIX"],
  }),
});
