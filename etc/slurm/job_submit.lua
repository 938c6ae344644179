-- Counts the GPUs of --aitherion-remote=N as licenses: a job takes N for each of its nodes, and waits until they are free.
--
-- In slurm.conf:    JobSubmitPlugins=lua    Licenses=aitherion:8
-- This file stands beside slurm.conf. If there is one already, call aitherion_licenses() from its slurm_job_submit().

local NAME = "aitherion"
local OPTION = "^_SLURM_SPANK_OPTION_aitherion_aitherion_remote=(.*)$"
local NOT_GIVEN = 4294967294 -- Slurm's NO_VAL

-- Returns the value of --aitherion-remote, or nil. Slurm numbers the options from 0 on.
local function remote_of(job)
   for i = 0, (job.spank_job_env_size or 0) - 1 do
      local value = string.match(job.spank_job_env[i], OPTION)
      if value then
         return value
      end
   end
   return nil
end

-- Adds the licenses to a job. Returns slurm.SUCCESS, or slurm.ERROR after a message to the user.
function aitherion_licenses(job)
   local value = remote_of(job)
   if value == nil then
      return slurm.SUCCESS
   end
   local gpus = tonumber(value)
   if gpus == nil then
      slurm.log_user("aitherion: --aitherion-remote needs a number, because GPUs of servers are counted here: --aitherion-remote=1")
      return slurm.ERROR
   end
   local nodes = job.min_nodes
   if nodes == nil or nodes == NOT_GIVEN or nodes < 1 then
      nodes = 1
   end
   if job.max_nodes ~= nil and job.max_nodes ~= NOT_GIVEN and job.max_nodes > nodes then
      slurm.log_user("aitherion: --aitherion-remote needs one number of nodes, not a range: -N " .. job.max_nodes)
      return slurm.ERROR
   end
   if job.licenses ~= nil and string.find("," .. job.licenses, "," .. NAME, 1, true) then
      slurm.log_user("aitherion: leave the licenses '" .. NAME .. "' out of -L: --aitherion-remote takes them")
      return slurm.ERROR
   end
   local wanted = NAME .. ":" .. math.floor(gpus * nodes)
   if job.licenses ~= nil and job.licenses ~= "" then
      wanted = job.licenses .. "," .. wanted
   end
   job.licenses = wanted
   return slurm.SUCCESS
end

function slurm_job_submit(job, partitions, uid)
   return aitherion_licenses(job)
end

function slurm_job_modify(job, record, partitions, uid)
   return slurm.SUCCESS
end

return slurm.SUCCESS
