//! The values and the label of a point of a study.

use std::collections::BTreeMap;

use toml::de::DeValue;

use crate::content::{Axis, Base, Content};
use crate::engines::Scope;
use crate::error::Diagnostic;
use crate::name::Name;
use crate::read::read;
use plan::key::{self, VARIANT};
use plan::{EngineTraits, FromValue, Span, Spanned, Value};

pub(crate) type LocatedDiagnostic = (Span, Diagnostic);
pub(crate) type Defaults = BTreeMap<&'static str, Spanned<Value>>;

/// The defaults of all keys, parsed like the values of a study.
pub(crate) fn defaults() -> Result<Defaults, LocatedDiagnostic> {
    let mut all = Defaults::new();
    for (key, text) in key::KEYS.iter().filter_map(|k| Some((k, k.default?))) {
        let value = DeValue::parse(text).map_err(|e| internal(e.message()))?;
        let value = read(&Name::of(key), value.get_ref()).map_err(|f| internal(&f.message))?;
        let span = Span::NOWHERE;
        all.insert(key.name, Spanned { value, span });
    }
    Ok(all)
}

/// The default of one key.
pub(crate) fn default(name: &str) -> Option<Spanned<Value>> {
    defaults().ok()?.remove(name)
}

/// An error in the table of keys; tests ensure that there is none.
pub(crate) fn internal(message: &str) -> LocatedDiagnostic {
    let help = "this is a bug in dyno, not an error in the study";
    (Span::NOWHERE, Diagnostic::new(message, help))
}

/// All values of one point.
pub(crate) struct Point<'a> {
    base: &'a Base<'a>,
    swept: Vec<(&'a Axis, &'a Spanned<Value>)>,
    defaults: &'a Defaults,
}

impl<'a> Point<'a> {
    /// The point with an index in the product of bases and axes. The base varies slowest and the
    /// last axis fastest.
    pub(crate) fn at(
        index: usize,
        content: &'a Content,
        bases: &'a [Base<'a>],
        defaults: &'a Defaults,
    ) -> Result<Self, LocatedDiagnostic> {
        let mut rest = index;
        let mut swept = Vec::with_capacity(content.axes.len());
        for axis in content.axes.iter().rev() {
            let count = axis.values.len().max(1);
            swept.extend(axis.values.get(rest % count).map(|value| (axis, value)));
            rest /= count;
        }
        swept.reverse();
        let base = bases.get(rest);
        Ok(Self {
            base: base.ok_or_else(|| internal("the index of a point is out of range"))?,
            swept,
            defaults,
        })
    }

    pub(crate) fn typed(&self, name: &str) -> Option<&'a Spanned<Value>> {
        self.given(name).or_else(|| self.defaults.get(name))
    }

    /// The value that the study itself has.
    pub(crate) fn given(&self, name: &str) -> Option<&'a Spanned<Value>> {
        let swept = self
            .swept
            .iter()
            .find(|(axis, _)| axis.name.full() == name)
            .map(|(_, v)| *v);
        let in_base = || self.base.entries.get(name)?.value.as_ref();
        swept.or_else(in_base)
    }

    pub(crate) fn maybe_spanned<T: FromValue>(
        &self,
        name: &str,
    ) -> Result<Option<Spanned<T>>, LocatedDiagnostic> {
        let Some(typed) = self.typed(name) else {
            return Ok(None);
        };
        let Some(value) = T::from_value(&typed.value) else {
            return Err(internal(&format!(
                "the value of `{name}` has the wrong type"
            )));
        };
        let span = typed.span;
        Ok(Some(Spanned { value, span }))
    }

    /// The value that a text stands for.
    pub(crate) fn maybe_parsed<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<Spanned<T>>, LocatedDiagnostic> {
        let Some(text) = self.maybe_spanned::<String>(name)? else {
            return Ok(None);
        };
        let value = parse(&text.value).ok_or_else(|| internal(&format!("`{name}` is invalid")))?;
        let span = text.span;
        Ok(Some(Spanned { value, span }))
    }

    pub(crate) fn spanned<T: FromValue>(
        &self,
        name: &str,
    ) -> Result<Spanned<T>, LocatedDiagnostic> {
        self.maybe_spanned(name)?
            .ok_or_else(|| internal(&format!("`{name}` has no value")))
    }

    pub(crate) fn maybe<T: FromValue>(&self, name: &str) -> Result<Option<T>, LocatedDiagnostic> {
        Ok(self.maybe_spanned(name)?.map(|v| v.value))
    }

    pub(crate) fn get<T: FromValue>(&self, name: &str) -> Result<T, LocatedDiagnostic> {
        Ok(self.spanned(name)?.value)
    }

    /// The settings of a server of this engine, by their names on the server, in order.
    pub(crate) fn settings(
        &self,
        engine: &str,
        engines: &[EngineTraits],
    ) -> Vec<(String, Spanned<String>)> {
        let in_base = self.base.entries.values();
        let in_base = in_base.filter_map(|e| Some((&e.name, e.value.as_ref()?)));
        let swept = self.swept.iter().map(|(axis, value)| (&axis.name, *value));
        let all: BTreeMap<_, _> = in_base
            .chain(swept)
            .filter_map(|(name, typed)| {
                let (value, span) = (typed.value.to_string(), typed.span);
                Some((name.setting()?, Spanned { value, span }))
            })
            .collect();
        let scope = Scope::of(engine, all.keys().copied(), engines);
        let of_engine = all
            .into_iter()
            .filter_map(|(setting, value)| Some((scope.setting(setting)?.to_owned(), value)));
        of_engine.collect()
    }

    pub(crate) fn variant(&self) -> Option<&'a str> {
        self.base.variant.map(|v| v.name.as_str())
    }

    /// The value on each axis.
    pub(crate) fn values(&self) -> plan::Point {
        let variant = self.variant().map(|v| (VARIANT.to_owned(), v.into()));
        let swept = self.swept.iter();
        let swept = swept.map(|(axis, v)| (axis.name.full().to_owned(), v.value.clone()));
        variant.into_iter().chain(swept).collect()
    }

    /// The parts of its label; none in a study of a single point.
    pub(crate) fn label(&self) -> Vec<String> {
        let mut parts: Vec<_> = self.variant().map(str::to_owned).into_iter().collect();
        for (axis, value) in &self.swept {
            let name = &axis.name;
            let namesakes = self
                .swept
                .iter()
                .filter(|(a, _)| a.name.short() == name.short());
            let name = if namesakes.count() == 1 {
                name.short()
            } else {
                name.full()
            };
            parts.push(format!("{name}={}", value.value));
        }
        parts
    }
}
