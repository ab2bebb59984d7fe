/** NODE_OPTIONS of a process that collects garbage in the middle of its work, again and again, as it may at any time. */
export const collectsOften = `--import=data:text/javascript,${encodeURIComponent(`
  import { createHook } from "node:async_hooks";
  import { setFlagsFromString } from "node:v8";
  import { runInNewContext } from "node:vm";
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  let resources = 0;
  createHook({ init: () => { if (++resources % 200 === 0) collect(); } }).enable();`)}`;
