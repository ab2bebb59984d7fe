import { answerOf } from "../connection/answers.js";
import { script } from "../connection/script.js";
import { endOfFences, lastFence } from "./last-fence.js";

/*
 * The lease names the replica that may watch and write for all. It has a TTL, and each new holder gets a higher fencing number.
 *
 * A number is the time of Redis in microseconds, or the last number plus one if that is more. So numbers go on to rise where
 * Redis has lost them, emptied for instance. Where its clock was set back as well, `floor` helps: the highest number that the
 * requesting replica knows. What is beyond `endOfFences` counts as lost.
 */
const nextFence = `${lastFence}
local function nextFence(key, floor)
  local time = redis.call('TIME')
  local known = tonumber(floor) < ${endOfFences} and tonumber(floor) or 0
  local text = string.format('%.0f', math.max(time[1] * 1000000 + time[2], lastFence(key) + 1, known + 1))
  redis.call('SET', key, text)
  return text
end
`;
/** The longest TTL. A lease that ends later, or never, is not of a replica, or is from a backup without TTLs. */
const longestMs = 600_000;

/**
 * KEYS lease, fence; ARGV holder, ms, floor. Returns the fencing number if the replica has the lease now, and no element if another one has it. A
 * holder keeps its number, so that acquiring again is safe.
 */
export const acquireScript = script(
  `${nextFence}
local held = redis.call('HMGET', KEYS[1], 'holder', 'fence')
if held[1] and held[1] ~= ARGV[1] then
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 or left > ${longestMs} then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return {}
end
local fence = held[2]
if not fence then
  fence = nextFence(KEYS[2], ARGV[3])
  redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'fence', fence)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {fence}
`,
  answerOf.texts(1),
);

const ifHeld = `
local held = redis.call('HMGET', KEYS[1], 'holder', 'fence')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] then
  return 0
end
`;

/** KEYS lease; ARGV holder, fence, ms. Returns 1 if the lease is held. */
export const renewScript = script(
  `${ifHeld}
return redis.call('PEXPIRE', KEYS[1], ARGV[3])
`,
  answerOf.flag,
);

/** KEYS lease; ARGV holder, fence. Returns 1 if the lease was held. */
export const releaseScript = script(
  `${ifHeld}
return redis.call('DEL', KEYS[1])
`,
  answerOf.flag,
);
