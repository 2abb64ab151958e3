"""A small file of each language: its name, its text, and what it declares."""

SAMPLES: dict[str, tuple[str, str, str]] = {
    "python": (
        "shop.py",
        """import os
LIMIT = 3
class Cart(Base):
    size: int = 0
    def add(self, item):
        def inner(): pass
        self.last = item
        self.last = None
async def pay(): ...
try:
    import fast
except ImportError:
    fast = None
""",
        "variable LIMIT, class Cart, field Cart.size, method Cart.add, function Cart.add.inner, field Cart.last, "
        "function pay, variable fast",
    ),
    "javascript": (
        "shop.mjs",
        """export class Cart { size = 0; #total; add(item) { return item } static make() {} }
export const pay = async (x) => x, LIMIT = 3
function* walk() {}
module.exports.close = function () {}
const { a, b: c } = require("x")
""",
        "class Cart, field Cart.size, field Cart.#total, method Cart.add, method Cart.make, function pay, "
        "variable LIMIT, function walk, function close, variable a, variable c",
    ),
    "typescript": (
        "shop.tsx",
        """export interface Item { name: string; price(): number }
export type Id = string | number
enum Size { Small, Large = 2 }
namespace Shop { export function open(): void {} }
abstract class Cart<T> {
  private items: T[] = []
  constructor(readonly id: Id) {}
  abstract sum(): number
  get total() { return 1 }
}
export const View = () => <div/>
declare function outside(x: number): void
""",
        "interface Item, field Item.name, method Item.price, type Id, enum Size, constant Size.Small, constant "
        "Size.Large, module Shop, function Shop.open, class Cart, field Cart.items, method Cart.constructor, "
        "field Cart.constructor.id, method Cart.sum, method Cart.total, function View, function outside",
    ),
    "go": (
        "shop.go",
        """package shop
const Limit = 3
var (
	first, second = 1, 2
)
type Cart struct { Size int; items []Item }
type Payer interface { Pay(x int) error }
type Id = string
type Money int
func (c *Cart) Add(i Item) {}
func New[T any](x T) *Cart { local := 1; return nil }
""",
        "constant Limit, variable first, variable second, struct Cart, field Cart.Size, field Cart.items, "
        "interface Payer, method Payer.Pay, type Id, type Money, method Cart.Add, function New",
    ),
    "rust": (
        "shop.rs",
        """pub mod inner { pub const LIMIT: u8 = 3; }
pub struct Cart<T> { pub size: usize, items: Vec<T> }
enum Size { Small, Large(u8) }
trait Pay { type Out; fn pay(&self) -> u8; }
impl<T> Cart<T> { pub fn add(&mut self, x: T) {} }
static TOTAL: u8 = 1;
type Id = u64;
macro_rules! shop { () => {} }
fn main() {}
""",
        "module inner, constant inner.LIMIT, struct Cart, field Cart.size, field Cart.items, enum Size, constant "
        "Size.Small, constant Size.Large, interface Pay, type Pay.Out, method Pay.pay, method Cart.add, variable "
        "TOTAL, type Id, macro shop, function main",
    ),
    "c": (
        "shop.c",
        """#define LIMIT 3
#define MAX(a, b) ((a) > (b))
typedef struct cart { int size; char *name; int (*pay)(int); } cart_t;
enum size { SMALL, LARGE };
static int total = 0;
int prototype(int x);
static char *add(struct cart *c, int i) { int local = 1; return 0; }
""",
        "macro LIMIT, macro MAX, type cart_t, struct cart, field cart.size, field cart.name, field cart.pay, enum "
        "size, constant size.SMALL, constant size.LARGE, variable total, function prototype, function add",
    ),
    "cpp": (
        "shop.cpp",
        """namespace shop {
template <class T> class Cart : public Base { public: Cart(); ~Cart(); int size() const; T item; };
using Id = int;
enum class Size { Small };
}
int shop::Cart::size() const { return 1; }
static int total = 0;
int main() { return 0; }
""",
        "module shop, class shop.Cart, method shop.Cart.Cart, method shop.Cart.~Cart, method shop.Cart.size, "
        "field shop.Cart.item, type shop.Id, enum shop.Size, constant shop.Size.Small, method Cart.size, variable "
        "total, function main",
    ),
    "java": (
        "Cart.java",
        """package shop;
public class Cart<T> implements Base { private int size, other; public Cart() {} void add(T item) { int local = 1; } }
interface Payer { int LIMIT = 3; void pay(); }
enum Size { SMALL, LARGE }
record Item(String name) {}
""",
        "class Cart, field Cart.size, field Cart.other, method Cart.Cart, method Cart.add, interface Payer, "
        "constant Payer.LIMIT, method Payer.pay, enum Size, constant Size.SMALL, constant Size.LARGE, class Item",
    ),
    "ruby": (
        "shop.rb",
        """module Shop
  LIMIT = 3
  class Cart < Base
    attr_reader :size
    def add(item); end
    def self.make; end
  end
end
""",
        "module Shop, constant Shop.LIMIT, class Shop.Cart, field Shop.Cart.size, method Shop.Cart.add, method "
        "Shop.Cart.make",
    ),
    "php": (
        "shop.php",
        """<?php
namespace Shop;
const LIMIT = 3;
interface Payer { public function pay(); }
class Cart { const MAX = 1; private int $size = 0; public function add($item) {} }
enum Size { case Small; }
function total() {}
""",
        "module Shop, constant LIMIT, interface Payer, method Payer.pay, class Cart, constant Cart.MAX, field "
        "Cart.size, method Cart.add, enum Size, constant Size.Small, function total",
    ),
    "csharp": (
        "Cart.cs",
        """namespace Shop {
  public class Cart : Base { private int size; public string Name { get; set; } public Cart() {} void Add(int i) {} }
  interface IPayer { void Pay(); }
  enum Size { Small }
  record Item(string Name);
  delegate int Sum(int a);
}
""",
        "module Shop, class Shop.Cart, field Shop.Cart.size, field Shop.Cart.Name, method Shop.Cart.Cart, method "
        "Shop.Cart.Add, interface Shop.IPayer, method Shop.IPayer.Pay, enum Shop.Size, constant Shop.Size.Small, "
        "class Shop.Item, type Shop.Sum",
    ),
    "bash": (
        "shop",
        """#!/usr/bin/env bash
LIMIT=3
export NAME=x
add() { local x=1; }
function pay { :; }
""",
        "variable LIMIT, variable NAME, function add, function pay",
    ),
    "kotlin": (
        "Shop.kt",
        """package shop
const val LIMIT = 3
class Cart(val size: Int) : Base() {
    val name = "x"
    fun add(item: Item) {}
    companion object {
        fun make() {}
    }
}
object Till {
    fun open() {}
}
interface Payer {
    fun pay()
}
enum class Size { SMALL, LARGE }
fun total(): Int = 1
""",
        "variable LIMIT, class Cart, field Cart.size, field Cart.name, method Cart.add, method Cart.make, class "
        "Till, method Till.open, class Payer, method Payer.pay, class Size, constant Size.SMALL, constant "
        "Size.LARGE, function total",
    ),
    "scala": (
        "Shop.scala",
        """package shop
trait Payer { def pay(): Int }
class Cart(size: Int) extends Base { val name = "x"; def add(i: Int): Unit = {} }
object Till { type Id = Int; def open() = 1 }
""",
        "interface Payer, method Payer.pay, class Cart, field Cart.size, field Cart.name, method Cart.add, class "
        "Till, type Till.Id, method Till.open",
    ),
    "lua": (
        "shop.lua",
        """local Cart = {}
function Cart.new() end
function Cart:add(item) end
local function total() end
Cart.pay = function() end
""",
        "variable Cart, function Cart.new, method Cart.add, function total, function Cart.pay",
    ),
    "swift": (
        "Shop.swift",
        """let limit = 3
class Cart: Base {
    var size = 0
    init() {}
    func add(_ item: Item) {}
}
struct Item { let name: String }
enum Size { case small, large }
protocol Payer { func pay() }
extension Cart { func total() -> Int { 1 } }
""",
        "variable limit, class Cart, field Cart.size, method Cart.init, method Cart.add, class Item, field "
        "Item.name, class Size, constant Size.small, constant Size.large, interface Payer, method Payer.pay, "
        "method Cart.total",
    ),
    "haskell": (
        "Shop.hs",
        """module Shop where
data Size = Small | Large
newtype Id = Id Int
type Name = String
class Payer a where
  pay :: a -> Int
add :: Int -> Int
add x = x + 1
""",
        "module Shop, type Size, constant Small, constant Large, type Id, constant Id, type Name, interface "
        "Payer, method Payer.pay, function add, function add",
    ),
    "elixir": (
        "shop.ex",
        """defmodule Shop.Cart do
  @limit 3
  def add(cart, item) when item > 0, do: cart
  defp total(cart), do: 1
  def empty, do: []
end
""",
        "module Shop.Cart, constant Shop.Cart.limit, function Shop.Cart.add, function Shop.Cart.total, function "
        "Shop.Cart.empty",
    ),
    "julia": (
        "shop.jl",
        """module Shop
const LIMIT = 3
abstract type Base end
struct Cart <: Base
  size::Int
end
function add(c::Cart, i) end
total(c) = 1
macro shop(x) end
end
""",
        "module Shop, constant Shop.LIMIT, type Shop.Base, struct Shop.Cart, function Shop.add, function "
        "Shop.total, macro Shop.shop",
    ),
    "ocaml": (
        "shop.ml",
        """type size = Small | Large
type cart = { items : int }
module Till = struct let opening x = x end
exception Closed
let add cart item = let local = 1 in local
""",
        "type size, constant Small, constant Large, type cart, field items, module Till, function Till.opening, "
        "type Closed, function add",
    ),
}
INTERFACE = ("shop.mli", "type cart\nval add : cart -> int -> cart\n", "type cart, function add")
