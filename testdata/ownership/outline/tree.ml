open Printf

(** A tree of keys. *)
type 'a tree =
  | Leaf
  | Node of 'a tree * 'a * 'a tree

exception Missing of string

let empty = Leaf

(** Puts a key in. *)
let rec insert key tree =
  match tree with
  | Leaf -> Node (Leaf, key, Leaf)
  | Node (l, k, r) ->
    let smaller = key < k in
    if smaller then Node (insert key l, k, r) else Node (l, k, insert key r)

module Stats = struct
  let rec depth tree =
    match tree with
    | Leaf -> 0
    | Node (l, _, r) -> 1 + max (depth l) (depth r)
end

module type SHOW = sig
  val show : int -> string
end

external now : unit -> float = "caml_now"
