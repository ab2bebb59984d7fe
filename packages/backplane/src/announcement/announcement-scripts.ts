import { script } from "../connection/script.js";

/** KEYS announcements, announced, … of each shard. Returns for each the id of its last announcement, `0-0` without one, and its number. */
export const tailsScript = script(`
local answers = {}
for i = 1, #KEYS / 2 do
  local last = redis.call('XREVRANGE', KEYS[2 * i - 1], '+', '-', 'COUNT', 1)
  answers[2 * i - 1] = last[1] and last[1][1] or '0-0'
  answers[2 * i] = redis.call('GET', KEYS[2 * i]) or '0'
end
return answers
`);
