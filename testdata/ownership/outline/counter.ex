defmodule Shop.Counter do
  @moduledoc "Counts."
  use GenServer
  alias Shop.Store

  @limit 10

  @doc "Adds to the count."
  @spec add(integer, integer) :: integer
  def add(count, by \\ 1) when by > 0 do
    next = count + by
    Store.put(next)
    clamp(next)
  end

  defp clamp(count), do: min(count, @limit)

  defmacro counted(name) do
    quote do: unquote(name)
  end

  defmodule Error do
    def message(e), do: e
  end
end

defprotocol Shop.Show do
  def show(value)
end

defimpl Shop.Show, for: Integer do
  def show(value), do: to_string(value)
end
