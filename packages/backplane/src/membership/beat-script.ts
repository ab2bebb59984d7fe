import { answerOf } from "../connection/answers.js";
import { script } from "../connection/script.js";

export const mostMembers = 1_000;

/**
 * KEYS members, then a text, a hash, a stream and other samples of the keys that replicas use; ARGV member or empty, ms that it lives, member to
 * remove or empty, the most ms that any lives, the most members. Returns all live members. TTLs are by the clock of Redis: clocks of
 * replicas are not compared. Other software may write here: entries that no replica can have written are removed or left out, and a key of another type is deleted.
 *
 * A replica with rights for heartbeats only could own nothing, and must not become an owner. So the script names a key of each
 * kind, which Redis (and Redis Cluster) checks before it runs the script, and does to samples what other scripts do. It begins
 * with commands that take memory: Redis checks rights and memory only until a script has written something.
 */
export const beatScript = script(
  `
local members = redis.pcall('ZCARD', KEYS[1])
if type(members) == 'table' and string.find(members.err, 'WRONGTYPE', 1, true) then
  redis.call('DEL', KEYS[1])
end
if ARGV[1] ~= '' then
  local text, hash, stream = KEYS[2], KEYS[3], KEYS[4]
  for _, command in ipairs({
    {'SET', text, '0', 'PX', '1000'}, {'GET', text}, {'INCR', text},
    {'DEL', hash, stream},
    {'HSET', hash, 'fence', '0'}, {'HGET', hash, 'fence'}, {'HMGET', hash, 'fence'}, {'HSTRLEN', hash, 'fence'},
    {'PEXPIRE', hash, '1000'}, {'PTTL', hash},
    {'XADD', stream, 'MAXLEN', '~', '1', '*', 'topic', ''}, {'XREVRANGE', stream, '+', '-', 'COUNT', '1'},
    {'XREAD', 'COUNT', '1', 'STREAMS', stream, '0'},
    {'ZCARD', KEYS[1]}, {'ZSCORE', KEYS[1], ARGV[1]}, {'ZREM', KEYS[1], ''},
    {'DEL', text, hash, stream},
  }) do
    redis.call(unpack(command))
  end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if ARGV[1] ~= '' then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('(%.0f', now))
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + tonumber(ARGV[4])), '+inf')
if ARGV[3] ~= '' then
  redis.call('ZREM', KEYS[1], ARGV[3])
end
members = {}
for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[5]) - 1)) do
  if #member <= 300 then
    members[#members + 1] = member
  end
end
return members
`,
  answerOf.texts(mostMembers),
);
