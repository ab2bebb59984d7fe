import { answerOf } from "../connection/answers.js";
import { script } from "../connection/script.js";
import { endOfFences, lastFence } from "./last-fence.js";

/** Keeps a script short: Redis does nothing else meanwhile. */
export const leasesAtOnce = 256;

/*
 * A lease names the replica that may watch and write a topic, or all topics of a namespace or the cluster. It has a TTL, and
 * each new holder gets a higher fencing number. All leases share one sequence of numbers, because a topic can be written under
 * its own lease at one time, and under the lease of its namespace at another.
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
-- Of many leases, one that is none, because something else is under its key, must not end the others.
local function isHeld(key, holder, fence)
  local held = redis.pcall('HMGET', key, 'holder', 'fence')
  return held[1] == holder and held[2] == fence
end
local function orEmpty(text)
  return type(text) == 'string' and #text <= 300 and text or ''
end
`;
/** The longest TTL. A lease that ends later, or never, is not of a replica, or is from a backup without TTLs. */
const longestMs = 600_000;

/**
 * KEYS lease, fence, wish; ARGV holder, ms, floor, TTL in ms of the hand-over request if another replica holds the lease (0: no request).
 * Returns "held", fence; or "taken", holder, ms that are left. A holder keeps its number, so that acquiring again is safe.
 */
export const acquireScript = script(
  `${nextFence}
local held = redis.call('HMGET', KEYS[1], 'holder', 'fence')
if held[1] and held[1] ~= ARGV[1] then
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 or left > ${longestMs} then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  if ARGV[4] ~= '0' then
    redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[4])
  end
  return {'taken', string.sub(held[1], 1, 300), redis.call('PTTL', KEYS[1])}
end
local fence = held[2]
if not fence then
  fence = nextFence(KEYS[2], ARGV[3])
  redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'fence', fence)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if redis.pcall('GET', KEYS[3]) == ARGV[1] then
  redis.call('DEL', KEYS[3])
end
return {'held', fence}
`,
  answerOf.stated(["held", "taken"]),
);

/** KEYS lease, wish, …; ARGV holder, ms, fence, …. Returns for each lease "held" and its requester, or "lost" and its holder. */
export const renewScript = script(
  `${nextFence}
local answers = {}
for i = 1, #KEYS / 2 do
  local lease, wish = KEYS[2 * i - 1], KEYS[2 * i]
  if isHeld(lease, ARGV[1], ARGV[2 + i]) then
    redis.call('PEXPIRE', lease, ARGV[2])
    answers[2 * i - 1] = 'held'
    answers[2 * i] = orEmpty(redis.pcall('GET', wish))
  else
    answers[2 * i - 1] = 'lost'
    answers[2 * i] = orEmpty(redis.pcall('HGET', lease, 'holder'))
  end
end
return answers
`,
  answerOf.texts(2 * leasesAtOnce),
);

/** KEYS lease; ARGV holder, fence. Returns 1 if the lease was held. */
export const releaseScript = script(
  `${nextFence}
if not isHeld(KEYS[1], ARGV[1], ARGV[2]) then
  return 0
end
return redis.call('DEL', KEYS[1])
`,
  answerOf.flag,
);

/**
 * KEYS lease, fence, wish; ARGV holder, fence, ms, floor, the next holder, which may be the same. Returns "held" and the new number, "lost" and the
 * holder, or "unasked" if there is no request of the next holder (any more).
 */
export const handOverScript = script(
  `${nextFence}
if not isHeld(KEYS[1], ARGV[1], ARGV[2]) then
  return {'lost', orEmpty(redis.pcall('HGET', KEYS[1], 'holder'))}
end
if ARGV[5] ~= ARGV[1] and redis.call('GET', KEYS[3]) ~= ARGV[5] then
  return {'unasked', ''}
end
local fence = nextFence(KEYS[2], math.max(tonumber(ARGV[4]), tonumber(ARGV[2])))
redis.call('HSET', KEYS[1], 'holder', ARGV[5], 'fence', fence)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
if redis.call('GET', KEYS[3]) == ARGV[5] then
  redis.call('DEL', KEYS[3])
end
return {'held', fence}
`,
  answerOf.stated(["held", "lost", "unasked"]),
);
