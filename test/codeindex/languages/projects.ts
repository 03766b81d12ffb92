/** Projects that have the constructs of a language, to compare the index with the language's own tools. */
export const GO_PROJECT: Readonly<Record<string, string>> = {
	"go.mod": "module example.com/shop\n\ngo 1.18\n",
	"main.go": `package main

import (
	"fmt"
	str "strings"

	"example.com/shop/cart"
	money "example.com/shop/internal/currency"
	_ "example.com/shop/plugins"
)

const version = "1"

var (
	total, count = 1, 2
	current      *cart.Cart
)

func init() { total++ }

func init() { count = total }

type handler func(cart.Item) error

type server struct {
	*cart.Cart
	name    string
	options struct{ retries int }
	handle  handler
}

func (s *server) run(items ...cart.Item) (err error) {
	name := s.name
	for i, item := range items {
		if err := s.handle(item); err != nil {
			return err
		}
		s.Add(item)
		_ = i
	}
	s.options.retries = count
	switch v := any(s).(type) {
	case *server:
		v.run()
	case fmt.Stringer, error:
		_ = v
	}
	func() {
		total := str.ToUpper(name)
		_ = total
	}()
	return s.Cart.Check()
}

func main() {
	c := cart.New(money.Euro)
	current = c
	c.Add(cart.Item{Name: "tea", Price: money.Of(3, money.Euro)})
	s := &server{Cart: c, name: version}
	if s.run() != nil {
		goto end
	}
	fmt.Println(c.Total().String(), total)
	add := c.Add
	add(cart.Item{})
	check := (*cart.Cart).Check
	_ = check(c)
end:
	var local struct{ version int }
	local.version = 1
	_ = cart.Map([]int{1}, func(n int) string { return fmt.Sprint(n) })
}
`,
	"cart/cart.go": `// Package cart holds items.
package cart

import . "example.com/shop/internal/currency"

// Cart is a list of items.
type Cart struct {
	items []Item
	unit  Unit
	Observer
}

type Item struct {
	Name  string
	Price Amount
	tags  map[string]tag
}

type tag struct{ label string }

type Observer interface {
	Checker
	Changed(item Item) bool
}

type Checker interface{ Check() error }

// New makes an empty cart.
func New(unit Unit) *Cart { return &Cart{unit: unit, items: nil} }

func (c *Cart) Add(item Item) *Cart {
	item.tags = map[string]tag{first: {label: first}, "b": {}}
	c.items = append(c.items, item)
	notify(c)
	return c
}
`,
	"cart/total.go": `package cart

import "example.com/shop/internal/currency"

const (
	first = "first"
	limit = iota
	_
	maximum
)

var defaults = Item{Name: first}

type sizes map[string]int

var known = sizes{first: limit, "x": maximum}

func (c Cart) Total() currency.Amount {
	sum := currency.Of(0, c.unit)
	for _, item := range c.items {
		sum = sum.Plus(item.Price)
	}
	return sum
}

func (c *Cart) Check() error { return nil }

func notify(c *Cart) {
	items := c.items
	if len(items) > maximum {
		items = items[:limit]
	}
	done := make(chan Item, 1)
	select {
	case item := <-done:
		_ = item.Name
	default:
	}
	c.Changed(defaults)
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

func (p *pair[K, V]) get() (K, V) { return p.key, p.value }

// Map calls a function for each.
func Map[T, R any](all []T, each func(T) R) []R {
	var result []R
	for _, one := range all {
		p := pair[T, R]{key: one, value: each(one)}
		_, r := p.get()
		result = append(result, r)
	}
	return result
}
`,
	"cart/cart_test.go": `package cart

import "testing"

func helper(t *testing.T) *Cart { return New(0) }

func TestAdd(t *testing.T) {
	c := helper(t)
	c.Add(Item{}).Add(defaults)
	_ = known["first"]
}
`,
	"cart/example_test.go": `package cart_test

import (
	"testing"

	"example.com/shop/cart"
)

func helper() *cart.Cart { return cart.New(1) }

func TestTotal(t *testing.T) { helper().Total() }
`,
	"cart/generate.go": `//go:build ignore

package main

type Cart struct{ name string }

func main() { _ = Cart{name: "x"}; notify() }

func notify() {}
`,
	"internal/currency/currency.go": `package currency

import "strconv"

type Unit int

const (
	Euro Unit = iota
	Dollar
)

type Amount struct {
	value int
	unit  Unit
}

type Money = Amount

func Of(value int, unit Unit) Amount { return Amount{value, unit} }

func (a Amount) Plus(other Amount) Amount {
	if a.unit != other.unit {
		panic("units")
	}
	return Money{value: a.value + other.value, unit: a.unit}
}

func (a Amount) String() string { return strconv.Itoa(a.value) }
`,
	"plugins/plugins.go": "package plugins\n\nfunc init() {}\n",
};

export const PYTHON_PROJECT: Readonly<Record<string, string>> = {
	"src/shop/__init__.py": `"""A shop."""
from .cart import Cart, LIMIT as MAXIMUM
from . import money
from .shared import *

__all__ = ["Cart", "money", "helper"]


def helper(cart: "Cart") -> "money.Amount":
    return cart.total()
`,
	"src/shop/cart.py": `from __future__ import annotations

import typing as t
from typing import TYPE_CHECKING, Generic, List, Optional, TypeVar

from .money import Amount
from .money import Amount as Sum

if TYPE_CHECKING:
    from .observers import Observer

T = TypeVar("T")
LIMIT = 10
counter = 0
items = [n for n in range(LIMIT) if n < LIMIT]

try:
    import json
except ImportError:
    json = None


def counted(function):
    def wrapper(*args, **kwargs):
        global counter
        counter += 1
        return function(*args, **kwargs)

    return wrapper


class Base:
    registry: dict = {}

    @classmethod
    def create(cls) -> Base:
        return cls()

    def check(self) -> bool:
        return True


class Item(Base):
    name = "item"
    limit = LIMIT

    def __init__(self, price: Amount, name: str = name) -> None:
        super().__init__()
        self.price = price
        self.label: Optional[str] = None


class Cart(Base, Generic[T]):
    """A cart of items. It has a total."""

    def __init__(self, observer: Optional[Observer] = None) -> None:
        self.items: List[Item] = []
        self.observer = observer
        self.first = Item(Amount(1))

    @counted
    def add(self, item: Item) -> Cart:
        items = self.items
        items.append(item)
        if self.observer:
            self.observer.changed(item)
        return self

    def total(self) -> Sum:
        result = Amount(0)
        for item in self.items:
            result = result.plus(item.price)
        LIMIT = 3
        return result

    @property
    def size(self) -> int:
        return len(self.items) + self.first.limit

    @staticmethod
    def empty() -> Cart:
        return Cart()


def walk(cart: Cart, *, depth: int = LIMIT) -> t.Iterator[Item]:
    inner = lambda item, counter=counter: item
    while (n := depth) > counter:
        yield inner(cart.first)
    del n
    match cart:
        case Cart(items=[Item() as one]):
            yield one
        case Item.limit | None:
            pass
`,
	"src/shop/money.py": `class Amount:
    unit = "EUR"

    def __init__(self, value: int) -> None:
        self.value = value

    def plus(self, other: "Amount") -> "Amount":
        return Amount(self.value + other.value)


ZERO: Amount = Amount(0)


def convert(amount: Amount | None = None) -> Amount:
    if amount is None:
        return ZERO
    return amount.plus(ZERO)
`,
	"src/shop/observers.py": `import abc

from shop.cart import Item


class Observer(abc.ABC):
    @abc.abstractmethod
    def changed(self, item: Item) -> None: ...


class Printer(Observer):
    def changed(self, item: Item) -> None:
        print(item.price.value, f"{item.name!r}")
`,
	"src/shop/shared.py": `VERSION = "1"


def shared() -> str:
    return VERSION
`,
	"src/shop/plugins/extra.py": `from .. import money
from ..cart import Cart as Basket, walk


class Extra(Basket):
    def extra(self) -> money.Amount:
        for one in walk(self):
            self.add(one)
        return money.convert(self.total())
`,
	"tests/test_cart.py": `import shop
import shop.money
import shop.plugins.extra as extra
from shop import Cart, MAXIMUM, money, shared
from shop.cart import LIMIT, Base, counted, items


def test_add():
    cart = Cart()
    cart.add(shop.cart.Item(money.Amount(3)))
    assert shop.money.ZERO.plus(money.ZERO).value == 0
    assert cart.total().value == 3 and cart.size
    assert shared() and MAXIMUM and LIMIT
    extra.Extra().extra()
    from shop.observers import Printer

    Cart(Printer()).empty()


@counted
def use(base: Base = Base.create()) -> list[int]:
    return [item for item in items if base.check()]
`,
};
