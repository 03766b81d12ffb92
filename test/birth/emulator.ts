/**
 * A small terminal, written from what terminals do and not from the code under test: a grid of
 * characters, one a cell. Knows only what the tests send.
 */
export function screenOf(text: string): string {
	const grid: string[][] = [[]];
	let row = 0;
	let column = 0;
	let rest = text;
	const take = (pattern: RegExp) => {
		const found = pattern.exec(rest);
		if (found) rest = rest.slice(found[0].length);
		return found;
	};
	const line = () => {
		while (grid.length <= row) grid.push([]);
		return grid[row] as string[];
	};
	while (rest !== "") {
		const sequence = rest.startsWith("\u001b") ? take(/^.\[(\d*)([A-Za-z])/) : undefined;
		if (sequence) {
			const given = sequence[1] === "" ? 0 : Number(sequence[1]);
			const by = given === 0 ? 1 : given;
			const letter = sequence[2] as string;
			if (letter === "A") row -= by;
			if (letter === "B") row += by;
			if (letter === "C") column += by;
			if (letter === "D") column -= by;
			if (letter === "E") [row, column] = [row + by, 0];
			if (letter === "F") [row, column] = [row - by, 0];
			if (letter === "G") column = by - 1;
			if (column < 0) column = 0;
			if (letter === "J") {
				grid.splice(row + 1);
				line().splice(column);
			}
			if (letter === "K" && given === 0) line().splice(column);
			if (letter === "K" && given === 1) {
				for (let at = 0; at <= column && at < line().length; at++) line()[at] = " ";
			}
			if (letter === "K" && given === 2) line().splice(0);
			continue;
		}
		const character = rest[0] as string;
		rest = rest.slice(1);
		if (character === "\n") [row, column] = [row + 1, 0];
		else if (character === "\r") column = 0;
		else if (character === "\b") column = Math.max(0, column - 1);
		else {
			const cells = line();
			while (cells.length < column) cells.push(" ");
			cells[column++] = character;
		}
		line();
	}
	return grid.map((cells) => cells.join("")).join("\n");
}
