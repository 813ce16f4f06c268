local math2 = require("math2")

local Vector = {}

-- Makes a vector.
function Vector.new(x, y)
  local self = { x = x, y = y }
  return self
end

function Vector:length()
  return math2.sqrt(self.x * self.x + self.y * self.y)
end

local function clamp(value, low, high)
  if value < low then
    return low
  end
  return high
end

Vector.scale = function(self, by)
  self.x = self.x * by
end

local handlers = {
  clicked = function(event)
    return clamp(event.x, 0, 1)
  end,
}

return Vector
