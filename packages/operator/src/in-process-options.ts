import { choice, integer, option, optionGroup, port, text, textOption, toggleOption } from "@bunting/runtime";

/** What holds for applications that evaluate flags themselves, where an InProcessConfiguration says nothing. */
export const inProcessOptionTable = optionGroup("Evaluation in process", {
  inProcessHost: option(text, "localhost", "Host that serves flags.", { env: ["IN_PROCESS_HOST"] }),
  inProcessPort: option(port, 8015, "Its port.", { env: ["IN_PROCESS_PORT"] }),
  inProcessSocketPath: textOption("A unix socket, in place of host and port.", {
    env: ["IN_PROCESS_SOCKET_PATH"],
  }),
  inProcessTls: toggleOption("The host speaks TLS.", { env: ["IN_PROCESS_TLS"] }),
  inProcessOfflineFlagSourcePath: textOption("A file with flags, in place of a host.", {
    env: ["IN_PROCESS_OFFLINE_FLAG_SOURCE_PATH"],
  }),
  inProcessSelector: textOption("Selector of the flags at the host.", { env: ["IN_PROCESS_SELECTOR"] }),
  inProcessCache: option(choice("lru", "disabled"), "lru", "Cache of the provider.", {
    env: ["IN_PROCESS_CACHE"],
  }),
  inProcessCacheMaxSize: option(integer({ min: 0, max: 1_000_000_000 }), 1_000, "Its size, in entries.", {
    env: ["IN_PROCESS_CACHE_MAX_SIZE"],
  }),
  inProcessEnvVarPrefix: option(
    text,
    "FLAGD",
    "What the names of the variables that applications get begin with.",
    { env: ["IN_PROCESS_ENV_VAR_PREFIX"] },
  ),
});
