//! The expressions of meta commands.

mod draws;
mod functions;
mod parse;
mod value;

use rand_xoshiro::Xoshiro256PlusPlus;

use functions::{Function, MOST};
pub(crate) use parse::{parse, syntax_error};
pub(crate) use value::{Value, Variable};

#[derive(Debug)]
pub(crate) enum Expr {
    Constant(Value),
    /// Its name and its number.
    Variable(String, usize),
    /// AND, which is decided by false on its left side, or OR, by true.
    Logic(bool, Box<[Expr; 2]>),
    /// IS or, with `false`, IS NOT.
    Is(bool, Box<Expr>, Value),
    /// Conditions, each with its result, and the result if none is true.
    Case(Vec<(Expr, Expr)>, Box<Expr>),
    Call(Function, Vec<Expr>),
}

/// What expressions read and change.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) rng: Xoshiro256PlusPlus,
    pub(crate) variables: Vec<Variable>,
}

impl Expr {
    pub(crate) fn eval(&self, state: &mut State) -> Result<Value, String> {
        match self {
            Self::Constant(value) => Ok(*value),
            Self::Variable(name, number) => state.variables[*number].value(name),
            Self::Logic(decisive, sides) => {
                for side in sides.iter() {
                    match side.eval(state)? {
                        Value::Null => return Ok(Value::Null),
                        value if value.is_true() == *decisive => return Ok(Value::Bool(*decisive)),
                        _ => {}
                    }
                }
                Ok(Value::Bool(!decisive))
            }
            Self::Is(is, expr, value) => Ok(Value::Bool((expr.eval(state)? == *value) == *is)),
            Self::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    if condition.eval(state)?.is_true() {
                        return result.eval(state);
                    }
                }
                otherwise.eval(state)
            }
            Self::Call(function, arguments) => {
                let mut values = [Value::Null; MOST];
                for (value, argument) in values.iter_mut().zip(arguments) {
                    *value = argument.eval(state)?;
                }
                let values = &values[..arguments.len()];
                match values.contains(&Value::Null) {
                    true => Ok(Value::Null),
                    false => function(values, &mut state.rng),
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::pgbench::names::{Names, number};
    use crate::random;

    /// The value of an expression in which `:i` is 7, `:d` 2.5, `:b` true, `:t` a text without
    /// value, and `:default_seed` 5432.
    pub(crate) fn eval(text: &str) -> Result<Value, String> {
        eval_with(text, 1)
    }

    pub(crate) fn eval_with(text: &str, seed: u64) -> Result<Value, String> {
        let mut names = Names::default();
        let mut variables = Vec::new();
        for (name, variable) in [
            ("i", Variable::Known(Value::Int(7))),
            ("d", Variable::Known(Value::Double(2.5))),
            ("b", Variable::Known(Value::Bool(true))),
            ("t", Variable::Text("x".into())),
            ("default_seed", Variable::Known(Value::Int(5432))),
        ] {
            assert_eq!(number(name, &mut names), Ok(variables.len()));
            variables.push(variable);
        }
        let mut rest = text;
        let expr = parse(&mut rest, &mut names)?;
        assert_eq!(rest, "", "{text}");
        variables.resize(names.len(), Variable::Unset);
        let rng = random::user(seed, 0);
        expr.eval(&mut State { rng, variables })
    }

    fn check(table: &[(&str, Value)]) {
        for (text, value) in table {
            assert_eq!(eval(text), Ok(*value), "{text}");
        }
    }

    fn check_errors(table: &[(&str, &str)]) {
        for (text, message) in table {
            assert_eq!(eval(text), Err((*message).to_owned()), "{text}");
        }
    }

    #[test]
    fn operators_bind_as_in_pgbench() {
        check(&[
            ("1 + 2 * 3", Value::Int(7)),
            ("(1 + 2) * 3", Value::Int(9)),
            ("10 - 4 - 3", Value::Int(3)),
            ("100 / 7 % 5", Value::Int(4)),
            ("-2 * 3", Value::Int(-6)),
            ("- - 2", Value::Int(2)),
            ("1 | 2 + 4", Value::Int(7)),
            ("~1 + 2", Value::Int(-4)),
            ("~1 | 2", Value::Int(-2)),
            ("1 << 2 + 1", Value::Int(8)),
            ("6 & 3 # 8 | 1", Value::Int(11)),
            ("1 + 1 = 2", Value::Bool(true)),
            ("1 = 1 is null", Value::Bool(false)),
            ("null is null is true", Value::Bool(true)),
            ("1 is not null and 2 > 1", Value::Bool(true)),
            ("not 1 = 2", Value::Bool(true)),
            ("not true is null", Value::Bool(true)),
            ("not false and false", Value::Bool(false)),
            ("true or true and false", Value::Bool(true)),
            ("2 * ~1 + 3", Value::Int(-10)),
        ]);
    }

    #[test]
    fn numbers_keep_their_type() {
        check(&[
            ("7 / 2", Value::Int(3)),
            ("-7 / 2", Value::Int(-3)),
            ("7 / 2.0", Value::Double(3.5)),
            ("1 + .5", Value::Double(1.5)),
            ("5. * 2", Value::Double(10.0)),
            ("1e2", Value::Double(100.0)),
            ("7.5 % 3", Value::Int(2)),
            ("5 % -1", Value::Int(0)),
            ("(-9223372036854775807 - 1) % -1", Value::Int(0)),
            ("-9223372036854775807 - 1", Value::Int(i64::MIN)),
            ("-1.5e1", Value::Double(-15.0)),
            ("1 / 0.0", Value::Double(f64::INFINITY)),
            ("-(0.0)", Value::Double(0.0)),
            ("1 < 1.5", Value::Bool(true)),
            ("2 != 2", Value::Bool(false)),
            ("0.0 / 0.0 <> 0", Value::Bool(true)),
            ("1 << 65", Value::Int(2)),
            ("-8 >> 1", Value::Int(-4)),
            (":i * :d", Value::Double(17.5)),
            ("int(2.5)", Value::Int(2)),
            ("double(3)", Value::Double(3.0)),
            ("abs(-3)", Value::Int(3)),
            ("ABS(-3.5)", Value::Double(3.5)),
            ("greatest(1, 3, 2)", Value::Int(3)),
            ("least(1, 0.5)", Value::Double(0.5)),
            ("power(2, 10)", Value::Double(1024.0)),
            ("mod(7, 3)", Value::Int(1)),
            ("debug(:b)", Value::Bool(true)),
            ("sqrt(4) + ln(exp(1))", Value::Double(3.0)),
            ("pi() > 3", Value::Bool(true)),
        ]);
    }

    #[test]
    fn null_decides_nothing_but_what_is_left_of_it() {
        check(&[
            ("null + 1", Value::Null),
            ("abs(null)", Value::Null),
            ("debug(null)", Value::Null),
            ("not null", Value::Null),
            ("1 < null", Value::Null),
            ("false and null", Value::Bool(false)),
            ("null and false", Value::Null),
            ("true and null", Value::Null),
            ("true or null", Value::Bool(true)),
            ("5 or null", Value::Bool(true)),
            ("null or true", Value::Null),
            ("false or null", Value::Null),
            ("null isnull", Value::Bool(true)),
            ("1 notnull", Value::Bool(true)),
            ("1 is true", Value::Bool(false)),
            ("false is not true", Value::Bool(true)),
            ("case when null then 1 end", Value::Null),
            (
                "case when 0 then 1 when 2.5 then 2 else 3 end",
                Value::Int(2),
            ),
            ("case when false then 1/0 else 3 end", Value::Int(3)),
            ("false and 1/0 = 1", Value::Bool(false)),
        ]);
    }

    #[test]
    fn errors_have_the_words_of_pgbench() {
        check_errors(&[
            ("9223372036854775807 + 1", "bigint out of range"),
            ("-9223372036854775807 - 2", "bigint out of range"),
            ("-(-9223372036854775807 - 1)", "bigint out of range"),
            ("9223372036854775807 * 2", "bigint out of range"),
            ("(-9223372036854775807 - 1) / -1", "bigint out of range"),
            ("abs(-9223372036854775807 - 1)", "bigint out of range"),
            ("1 / 0", "division by zero"),
            ("1 % 0", "division by zero"),
            ("true = true", "cannot coerce true to int"),
            ("1 = 2 = 3", "cannot coerce false to int"),
            (":x", "undefined variable \"x\""),
            (":t + 1", "malformed variable \"t\" value: \"x\""),
            ("random(2, 1)", "empty range given to random"),
            (
                "random(-9223372036854775807, 9223372036854775807)",
                "random range is too large",
            ),
            (
                "random_gaussian(1, 2, 1.5)",
                "gaussian parameter must be at least 2.000000 (not 1.500000)",
            ),
            (
                "random_exponential(1, 2, 0)",
                "exponential parameter must be greater than zero (not 0.000000)",
            ),
            (
                "random_zipfian(1, 2, 1)",
                "zipfian parameter must be in range [1.001, 1000] (not 1.000000)",
            ),
            (
                "permute(1, 0)",
                "permute size parameter must be greater than zero",
            ),
            (
                "least(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)",
                "unexpected number of arguments (least)",
            ),
        ]);
    }
}
