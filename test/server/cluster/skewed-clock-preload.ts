/** Loaded into a server before anything else: its clocks are off by `STRATA_TEST_CLOCK`, "<ms>,<rate>". */
const [offset = 0, rate = 1] = (process.env.STRATA_TEST_CLOCK ?? "").split(",").map(Number);
const wall = Date.now.bind(Date);
const steady = performance.now.bind(performance);
const start = steady();

Date.now = () => wall() + offset;
performance.now = () => start + (steady() - start) * rate;
