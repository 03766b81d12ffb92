/** Generated sources of about 6 KB: types, functions, members and imports, as in real ones. */
interface SourceFile {
	readonly path: string;
	readonly text: string;
}

const PARTS = 10;

function parts(make: (part: number) => string): string {
	return Array.from({ length: PARTS }, (_, part) => make(part)).join("\n");
}

export function pythonFile(index: number): SourceFile {
	const text = `"""Orders of region ${index}."""
import json
import typing as t

from shop.base import Base, Registry
from shop.region_${index + 1} import Order0 as Next

LIMIT = ${index}
registry: Registry = Registry()


${parts(
	(part) => `class Order${part}(Base):
    """An order of kind ${part}. It has lines."""

    kind = "order-${part}"

    def __init__(self, name: str, lines: t.List[Next], parent: t.Optional[Base] = None) -> None:
        super().__init__(name)
        self.lines = lines
        self.parent = parent
        self.total = sum(line.price for line in lines if line.price > LIMIT)

    def find(self, name: str) -> t.Optional[Next]:
        for line in self.lines:
            if line.name == name and registry.knows(line):
                return line
        return None if self.parent is None else self.parent.find(name)

`,
)}
def load(path: str) -> Order0:
    with open(path) as file:
        data = json.load(file)
    return Order0(data["name"], [Next(**one) for one in data["lines"]])
`;
	return { path: `python/shop/region_${index}.py`, text };
}

export function goFile(index: number): SourceFile {
	const text = `package region${index}

import (
	"encoding/json"
	"fmt"

	"example.com/shop/base"
)

const limit = ${index}

${parts(
	(part) => `// Order${part} is an order of kind ${part}.
type Order${part} struct {
	*base.Order
	Name  string
	Lines []*base.Line
	total int
}

func NewOrder${part}(name string, lines ...*base.Line) (*Order${part}, error) {
	order := &Order${part}{Name: name, Lines: lines}
	for _, line := range lines {
		if line.Price > limit {
			order.total += line.Price
		}
	}
	if err := order.check(name); err != nil {
		return nil, fmt.Errorf("order %s: %w", name, err)
	}
	return order, nil
}

func (o *Order${part}) check(name string) error {
	if _, err := json.Marshal(o.Lines); err != nil {
		return err
	}
	return o.Order.Check(name, o.total)
}
`,
)}`;
	return { path: `go/region${index}/orders.go`, text };
}

export function rustFile(index: number): SourceFile {
	const text = `use crate::base::{Base, Line};

const LIMIT: u32 = ${index};

${parts(
	(part) => `/// An order of kind ${part}.
pub struct Order${part} {
    pub name: String,
    lines: Vec<Line>,
}

impl Order${part} {
    pub fn new(name: &str, lines: Vec<Line>) -> Self {
        Self { name: name.to_string(), lines }
    }

    pub fn total(&self) -> u32 {
        self.lines.iter().filter(|line| line.price > LIMIT).map(|line| line.price).sum()
    }
}

impl Base for Order${part} {
    fn check(&self) -> Result<(), String> {
        match self.total() {
            0 => Err(format!("order {}", self.name)),
            _ => Ok(()),
        }
    }
}
`,
)}`;
	return { path: `rust/src/region_${index}.rs`, text };
}
